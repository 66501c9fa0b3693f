import { accessSync, constants, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import type { Log } from '../shared/log.ts'
import { periodically } from '../shared/timers.ts'
import { StoreUnavailable } from './store.ts'

/** Watches whether the open files of a database are still those at its path. */
export interface PlaceWatch {
  /** Why nothing new may be written; null if the files were in place at the last check. */
  readonly lost: StoreUnavailable | null
  stop (): Promise<void>
}

interface PlaceWatchOptions { log: Log, everyMs?: number }

/**
 * Compares the files at `path` with those that were just opened there, every `everyMs`. SQLite itself
 * continues with a file that was deleted, moved or replaced, and its writes are lost with the process.
 * Another file is never opened instead.
 */
export function watchPlace (path: string, { log, everyMs = 2000 }: PlaceWatchOptions): PlaceWatch {
  // SQLite follows a link to the database, and keeps its log beside the target.
  const target = realpathSync(path)
  const wal = `${target}-wal`
  const files = [path, wal].map(file => ({ file, opened: identityOf(file) }))
  const openFiles = openFilesOf([target, wal])

  function problem (): string | null {
    for (const { file, opened } of files) {
      const found = identityOf(file)
      if (found === opened) continue
      return `${file} was ${found === null ? 'deleted or moved' : 'replaced'} while it was open`
    }
    accessSync(path, constants.W_OK)
    return null
  }

  function look (): void {
    const why = reasonOf(problem)
    const isNew = why !== null && watch.lost === null
    if (why === null && watch.lost !== null) log.info({ file: path }, 'the database file is in its place again')
    watch.lost = why === null ? null : new StoreUnavailable(new Error(why), { problem: 'misplaced' })
    if (isNew) log.error({ file: path, openFiles }, `${why}; requests are refused. ${recovery}`)
  }

  const failed = (err: unknown): void => log.error({ err }, 'the database file could not be watched')
  const looks = periodically(() => everyMs, async () => look(), failed)
  const watch = { lost: null as StoreUnavailable | null, stop: () => looks.stop() }
  return watch
}

/** Advice for the operator; docs/books.md has the details. */
const recovery = 'Running work is still written to the open files: put the file back, or before this process ends stop it ' +
  '(kill -STOP), copy `openFiles` to their names, and only then kill and restart it.'

function reasonOf (problem: () => string | null): string | null {
  try {
    return problem()
  } catch (error) {
    return `The database file cannot be written: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Device and inode; null if the file does not exist. */
function identityOf (file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}`
}

/** The open files of this process under Linux's `/proc`, by name; empty on other systems. */
function openFilesOf (files: readonly string[]): Record<string, string> {
  const folder = `/proc/${process.pid}/fd`
  try {
    const open = readdirSync(folder).map(fd => [readLink(`${folder}/${fd}`), `${folder}/${fd}`] as const)
    return Object.fromEntries(files.map(file => [file, open.find(([name]) => name === file)?.[1] ?? '']))
  } catch {
    return {}
  }
}

function readLink (link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    // It has been closed.
    return ''
  }
}
