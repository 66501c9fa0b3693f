import { existsSync, lstatSync, readlinkSync, realpathSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** A watch on every directory in which something can change what a path leads to. */
export interface DirectoryWatch {
  /** Follows the links anew; to be called after an event, because a link may lead elsewhere now. */
  refresh (): void
  close (): void
}

/** Most links followed, as in Linux. */
const maxLinks = 40

/** Calls `onEvent` whenever something happens beside a path, or beside the files that its links lead to. */
export function watchDirectories (
  path: string, onEvent: () => void, onError: (error: Error) => void
): DirectoryWatch {
  const watchers = new Map<string, FSWatcher>()

  function add (directory: string) {
    const watcher = watch(directory, onEvent)
    watchers.set(directory, watcher)
    watcher.on('error', (error) => {
      watchers.delete(directory)
      onError(error)
    })
  }

  function refresh () {
    try {
      const wanted = directoriesOf(path)
      const unwanted = [...watchers].filter(([directory]) => !wanted.has(directory))
      for (const [directory, watcher] of unwanted) {
        watcher.close()
        watchers.delete(directory)
      }
      for (const directory of wanted) {
        if (!watchers.has(directory)) add(directory)
      }
    } catch (error) {
      // Files come and go while they are looked at; the next event brings another attempt.
      onError(error instanceof Error ? error : new Error(String(error)))
    }
  }

  refresh()
  return {
    refresh,
    close () {
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    }
  }
}

/** The directory of the path, and that of every link on the way. */
function directoriesOf (path: string): Set<string> {
  const directories = new Set<string>()
  let current = resolve(path)
  for (let links = 0; links <= maxLinks; links++) {
    const directory = dirname(current)
    // A watch stays with the directory it was put on, so one behind a link must go by its real name.
    directories.add(existsSync(directory) ? realpathSync(directory) : directory)
    const target = readLink(current)
    if (target === null) break
    current = resolve(directory, target)
  }
  return directories
}

/** Where a link leads; null for what is no link, or is not there at the moment. */
function readLink (path: string): string | null {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isSymbolicLink() === true ? readlinkSync(path) : null
}
