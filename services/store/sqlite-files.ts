import { accessSync, chmodSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreUnavailable } from './store.ts'

/**
 * Creates the folder and the file of a database for their owner only, with any umask, and removes access for
 * others that an earlier version had left. A file that only a group may read was shared on purpose, and an
 * existing folder may have other uses: both are unchanged. Throws StoreUnavailable.
 */
export async function prepareFiles (path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    if (!existsSync(path)) await (await open(path, 'a', 0o600)).close()
    // SQLite creates further files with the mode of the database.
    for (const file of ['', '-wal', '-shm', '-journal'].map(ending => path + ending)) {
      const found = statSync(file, { throwIfNoEntry: false })
      const isOurs = found?.isFile() === true && found.uid === process.geteuid?.()
      if (isOurs && (found.mode & 0o007) !== 0) chmodSync(file, 0o600)
    }
  } catch (error) {
    throw new StoreUnavailable(error, { problem: 'unusable' })
  }
}

/** Describes why the file at `path` cannot be opened, by SQLite's message and the state of the file. */
export function unusableFile (path: string, error: unknown): unknown {
  if (!(error instanceof StoreUnavailable)) return error
  const { cause, problem } = error
  const reason = cause instanceof Error ? cause.message : error.message
  const seen = fileProblem(path)
  const message = `The database file ${path} cannot be used: ${reason}${seen === null ? '' : ` (${seen})`}`
  return new StoreUnavailable(cause, { problem, message })
}

function fileProblem (path: string): string | null {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return 'it is a folder'
    // SQLite writes further files beside it.
    accessSync(dirname(path), constants.R_OK | constants.W_OK)
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
    return statfsSync(dirname(path)).bavail === 0 ? 'its disk is full' : null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
