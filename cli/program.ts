import { Command } from 'commander'
import { addAccountCommands } from './accounts.ts'
import { addAlertsCommand } from './alerts.ts'
import { addAuditCommand } from './audit.ts'
import { addBooksCommands } from './books.ts'
import { addCreditCommands } from './credits.ts'
import { addJobCommands } from './jobs.ts'
import { addKeyCommands } from './keys.ts'
import { addLedgerCommands } from './ledger.ts'
import { addMediaCommand } from './media.ts'
import { addMigrateCommand } from './migrate.ts'
import { addProvidersCommand } from './providers.ts'
import { addRequestCommands } from './requests.ts'
import { addRouteCommands } from './route.ts'
import { createSession } from './session.ts'
import { oneLine, type Outcome, type Terminal } from './terminal.ts'
import { addUsageCommand } from './usage.ts'

/** Builds the commands of the CLI, which write their exit code to `outcome`. */
export function createProgram (terminal: Terminal, outcome: Outcome): Command {
  const program = new Command('tollgate')
    .description('An OpenAI-compatible gateway for chat, images and video')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => { terminal.stdout.write(text) },
      writeErr: (text) => { terminal.stderr.write(text) },
      outputError: (text, write) => write(`tollgate: ${oneLine(text.replace(/^error: /, ''))}\n`)
    })
    .helpCommand(false)
    .addHelpText('after', notes)

  program.command('serve')
    .description('start the gateway')
    .action(async () => await terminal.serve())

  const session = createSession(terminal, outcome)
  addKeyCommands(program, session)
  addAccountCommands(program, session)
  addCreditCommands(program, session)
  addUsageCommand(program, session)
  addLedgerCommands(program, session)
  addBooksCommands(program, session)
  addAlertsCommand(program, session)
  addAuditCommand(program, session)
  addJobCommands(program, session)
  addRequestCommands(program, session)
  addMediaCommand(program, session, terminal.env)
  addProvidersCommand(program, session, terminal.env)
  addMigrateCommand(program, session)
  addRouteCommands(program, session, terminal.env)
  return program
}

const notes = `
All commands work while the gateway runs. Like the gateway, they use the database in DATABASE_URL
(default: sqlite:./data/tollgate.db).

Amounts are in US dollars with up to 9 decimals, e.g. 12.50 or 1,250.00. Times are in ISO 8601, e.g.
2026-11-21 or 2026-11-21T07:30:00Z.

Exit codes: 0 success; 1 rejected, or the ledger is inconsistent; 2 invalid command; 3 database
unavailable.`
