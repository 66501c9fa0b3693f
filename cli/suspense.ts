import { Option, type Command } from 'commander'
import { suspenseStates, type SuspenseItem } from '../schemas/admin/suspense.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import {
  clearSuspense, listSuspense, writeOffSuspense, type ClosedSuspense, type SuspenseRequest
} from '../services/operations/admin/suspense.ts'
import { withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

type ClosingOptions = JsonOption & { reason: string }

/** Adds `list`, `clear` and `write-off` to `ledger suspense`. */
export function addSuspenseCommands (ledger: Command, session: Session): void {
  const suspense = ledger.command('suspense').description('manage costs that no account was charged')

  withPaging(withJson(suspense.command('list')))
    .description('list them, newest first')
    .option('--account <account>', 'only requests of this account')
    .addOption(new Option('--state <state>', 'only amounts in this state').choices(suspenseStates))
    .action(async (options: JsonOption & SuspenseRequest) =>
      await session.list(options, suspenseColumns, administration => listSuspense(administration, options)))

  withReason(suspense.command('clear <id>'))
    .description('charge an amount to its account')
    .action(async (id: string, options: ClosingOptions) => {
      const closed = await session.administer(administration => clearSuspense(administration, id, options))
      session.print(options, closed.item, () => describe(closed, 'Cleared'))
    })

  withReason(suspense.command('write-off <id>'))
    .description('write an amount off at the operator\'s expense')
    .action(async (id: string, options: ClosingOptions) => {
      const closed = await session.administer(administration => writeOffSuspense(administration, id, options))
      session.print(options, closed.item, () => describe(closed, 'Written off'))
    })
}

function withReason (command: Command): Command {
  return withJson(command).requiredOption('--reason <text>', 'the reason, recorded in the ledger')
}

function describe ({ item, created }: ClosedSuspense, done: string): string {
  const { id, account, amount_nano: amount } = item
  const status = created ? done : `${done} before`
  return `${status}: ${id}, ${amountText(amount)} of the account ${account}.\n`
}

const suspenseColumns: Column<SuspenseItem>[] = [
  { name: 'at', cell: ({ at }) => at },
  { name: 'id', cell: ({ id }) => id },
  { name: 'state', cell: ({ state }) => state },
  { name: 'reason', cell: ({ reason }) => reason ?? '' },
  { name: 'account', cell: ({ account }) => account },
  { name: 'amount', numeric: true, cell: ({ amount_nano: amount }) => amountText(amount) },
  { name: 'model', cell: ({ model }) => model ?? '' },
  { name: 'ref', cell: ({ ref }) => ref ?? '' },
  { name: 'note', cell: ({ closing }) => closing?.reason ?? '' }
]
