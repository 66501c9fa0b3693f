import type { Writable } from 'node:stream'

/** The streams and environment of a command. */
export interface Terminal {
  stdout: Writable
  stderr: Writable
  env: NodeJS.ProcessEnv
  /** Starts the gateway; resolves once it listens. */
  serve (): Promise<void>
}

/** The exit codes of the process. */
export const exitCodes = {
  success: 0,
  /** The gateway refused, or the ledger is inconsistent. */
  failure: 1,
  /** The command line is invalid. */
  usage: 2,
  /** The database is unavailable. */
  unavailable: 3
} as const

/** The exit code of the running command. */
export interface Outcome { exitCode: number }

/** Joins the lines of a message, so that scripts find one error in one line. */
export function oneLine (text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ')
}
