import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreUnavailable } from './store.ts'

/** Describes why the file at `path` cannot be opened, by SQLite's message and what is seen of the file. */
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
    // SQLite writes files of its own beside it.
    accessSync(dirname(path), constants.R_OK | constants.W_OK)
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK)
    return statfsSync(dirname(path)).bavail === 0 ? 'its disk is full' : null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
