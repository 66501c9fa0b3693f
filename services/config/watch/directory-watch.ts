import { existsSync, lstatSync, readlinkSync, realpathSync, watch, type FSWatcher } from 'node:fs'
import { dirname, resolve } from 'node:path'

const maxLinks = 40

/** Calls `onEvent` whenever something changes in the directory of a path, or of a link it goes through. */
export function watchDirectories (path: string, onEvent: () => void, onError: (error: Error) => void) {
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
      const needed = directoriesOf(path)
      const obsolete = [...watchers].filter(([directory]) => !needed.has(directory))
      for (const [directory, watcher] of obsolete) {
        watcher.close()
        watchers.delete(directory)
      }
      for (const directory of needed) {
        if (!watchers.has(directory)) add(directory)
      }
    } catch (error) {
      // A file may disappear during the check; the next event tries again.
      onError(error instanceof Error ? error : new Error(String(error)))
    }
  }

  refresh()
  return {
    /** Follows the links again; call it after an event, because a link may have changed. */
    refresh,
    close (): void {
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    }
  }
}

function directoriesOf (path: string): Set<string> {
  const directories = new Set<string>()
  let current = resolve(path)
  for (let links = 0; links <= maxLinks; links++) {
    const directory = dirname(current)
    // A watch stays on the directory it was opened for, so resolve links in its name first.
    directories.add(existsSync(directory) ? realpathSync(directory) : directory)
    const target = readLink(current)
    if (target === null) break
    current = resolve(directory, target)
  }
  return directories
}

function readLink (path: string): string | null {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isSymbolicLink() === true ? readlinkSync(path) : null
}
