import { CommanderError } from 'commander'
import { StoreUnavailable } from '../services/store/store.ts'
import { createProgram } from './program.ts'
import { exitCodes, oneLine, type Terminal } from './terminal.ts'

/**
 * Runs one command, e.g. `['keys', 'list', '--json']`, and returns the exit code of the process. Errors are
 * printed on standard error in one line; nothing is thrown.
 */
export async function runCommandLine (args: readonly string[], terminal: Terminal): Promise<number> {
  const outcome = { exitCode: exitCodes.success }
  try {
    await createProgram(terminal, outcome).parseAsync(args, { from: 'user' })
    return outcome.exitCode
  } catch (error) {
    // Commander has already printed the message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage
    terminal.stderr.write(`tollgate: ${oneLine(messageOf(error))}\n`)
    return error instanceof StoreUnavailable ? exitCodes.unavailable : exitCodes.failure
  }
}

function messageOf (error: unknown): string {
  if (!(error instanceof StoreUnavailable)) {
    return error instanceof Error ? error.message || error.name : String(error)
  }
  // The causes explain why the database cannot be used.
  let text = ''
  let cause: unknown = error
  for (let causes = 0; cause instanceof Error && causes < maxCauses; causes++) {
    const message = cause.message.replace(/\.$/, '')
    if (!text.includes(message)) text += text === '' ? message : `: ${message}`
    cause = cause.cause
  }
  return `${text}. Check DATABASE_URL.`
}

const maxCauses = 3
