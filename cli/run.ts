import { CommanderError } from 'commander'
import { StoreUnavailable } from '../services/store/store.ts'
import { createProgram } from './program.ts'
import { exitCodes } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/**
 * Carries out one command, e.g. `['keys', 'list', '--json']`, and returns the exit code of the process. What
 * goes wrong is told on standard error in one line; nothing is thrown.
 */
export async function runCommandLine (args: readonly string[], terminal: Terminal): Promise<number> {
  const outcome = { exitCode: exitCodes.done }
  try {
    await createProgram(terminal, outcome).parseAsync(args, { from: 'user' })
    return outcome.exitCode
  } catch (error) {
    // Its message has been written already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    terminal.stderr.write(`tollgate: ${oneLine(error)}\n`)
    return error instanceof StoreUnavailable ? exitCodes.unavailable : exitCodes.refused
  }
}

function oneLine (error: unknown): string {
  const messages: string[] = []
  // What a store says of itself is that it cannot be reached; its causes say why.
  for (let cause = error; cause instanceof Error && messages.length < maxCauses; cause = cause.cause) {
    if (cause.message !== '') messages.push(cause.message)
    if (!(error instanceof StoreUnavailable)) break
  }
  const text = messages.length === 0 ? String(error) : messages.join(' ')
  return text.replaceAll(/\s*\n\s*/g, ' ')
}

const maxCauses = 3
