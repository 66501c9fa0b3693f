import type { Writable } from 'node:stream'

/** What a command works in. */
export interface Terminal {
  stdout: Writable
  stderr: Writable
  env: NodeJS.ProcessEnv
  /** Starts the gateway; resolves when it listens. */
  serve (): Promise<void>
}

/** How a process ends. */
export const exitCodes = {
  done: 0,
  /** The gateway refused, or the books do not add up. */
  refused: 1,
  /** The command was not understood. */
  usage: 2,
  /** The database cannot be asked. */
  unavailable: 3
} as const

/** How the command that is running will end. */
export interface Outcome { exitCode: number }
