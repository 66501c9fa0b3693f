import { Command } from 'commander'
import { adminResources } from '../services/operations/admin/resources/all.ts'
import { addCatalogueCommands } from './catalogue.ts'
import { addMigrateCommand } from './migrate.ts'
import { addOperations } from './operations.ts'
import { addRouteCommands } from './route.ts'
import { addSandboxCommand } from './sandbox.ts'
import { createSession } from './session.ts'
import { oneLine, type Outcome, type Terminal } from './terminal.ts'

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
  addSandboxCommand(program, terminal)

  const session = createSession(terminal, outcome)
  for (const [name, description] of groups) {
    const [last = '', above] = name.split(' ').reverse()
    const parent = program.commands.find(command => command.name() === above) ?? program
    parent.command(last).description(description)
  }
  for (const operations of Object.values(adminResources)) addOperations(program, session, operations)
  addCatalogueCommands(program, session, terminal.env)
  addMigrateCommand(program, session)
  addRouteCommands(program, session, terminal.env)
  return program
}

/** The commands that have others below them. */
const groups = [
  ['keys', 'manage the API keys of apps and operators'],
  ['accounts', 'manage the accounts that pay for requests'],
  ['credits', 'manage the credits of accounts, in US dollars'],
  ['ledger', 'inspect the ledger'],
  ['ledger suspense', 'manage costs that no account was charged'],
  ['books', 'print statements and balances'],
  ['jobs', 'manage video jobs'],
  ['requests', 'find requests and their outcome']
] as const

const notes = `
All commands work while the gateway runs. Like the gateway, they use the database in DATABASE_URL
(default: sqlite:./data/tollgate.db).

Amounts are in US dollars with up to 9 decimals, e.g. 12.50 or 1,250.00. Times are in ISO 8601, e.g.
2026-11-21 or 2026-11-21T07:30:00Z.

Exit codes: 0 success; 1 rejected, or the ledger is inconsistent; 2 invalid command; 3 database
unavailable.`
