import type { Writable } from 'node:stream'

/** The streams and environment of a command. */
export interface Terminal {
  stdout: Writable
  stderr: Writable
  env: NodeJS.ProcessEnv
  /** Starts the gateway, with more variables than `env`; resolves once it listens. */
  serve (more?: NodeJS.ProcessEnv): Promise<void>
}

export const exitCodes = {
  success: 0,
  /** The command was rejected, or the ledger is inconsistent. */
  failure: 1,
  usage: 2,
  unavailable: 3
} as const

export interface Outcome { exitCode: number }

/** Joins the lines of a message, so that scripts find one error in one line. */
export function oneLine (text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ')
}
