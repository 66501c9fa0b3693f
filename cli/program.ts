import { Command } from 'commander'
import { addAccountCommands } from './accounts.ts'
import { addCreditCommands } from './credits.ts'
import { addJobCommands } from './jobs.ts'
import { addKeyCommands } from './keys.ts'
import { addLedgerCommands } from './ledger.ts'
import { addRouteCommands } from './route.ts'
import { createSession } from './session.ts'
import type { Outcome, Terminal } from './terminal.ts'
import { addUsageCommand } from './usage.ts'

/** Describes the whole command line; `outcome` is where commands note how they end. */
export function createProgram (terminal: Terminal, outcome: Outcome): Command {
  const program = new Command('tollgate')
    .description('An OpenAI-compatible gateway for chat, images and video')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => { terminal.stdout.write(text) },
      writeErr: (text) => { terminal.stderr.write(text) },
      outputError: (text, write) => write(`tollgate: ${oneLine(text)}\n`)
    })
    .helpCommand(false)
    .addHelpText('after', notes)

  program.command('serve')
    .description('start the gateway, which keeps running')
    .action(async () => await terminal.serve())

  const session = createSession(terminal, outcome)
  addKeyCommands(program, session)
  addAccountCommands(program, session)
  addCreditCommands(program, session)
  addUsageCommand(program, session)
  addLedgerCommands(program, session)
  addJobCommands(program, session)
  addRouteCommands(program, session, terminal.env)
  return program
}

const notes = `
All commands work while the gateway runs; they use the database in DATABASE_URL, as it does
(sqlite:./data/tollgate.db when it is not set).

Amounts are in US dollars with at most 9 decimals, times in ISO 8601.
Exit codes: 0 done, 1 refused or the books do not add up, 2 not understood, 3 no database.`

function oneLine (text: string): string {
  return text.replace(/^error: /, '').trim().replaceAll(/\s*\n\s*/g, ' ')
}
