import { Option, type Command } from 'commander'
import { entryKinds, type Entry } from '../schemas/admin/entries.ts'
import type { AdminHold } from '../schemas/admin/holds.ts'
import type { LedgerCheck } from '../schemas/admin/ledger.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import { entriesCsv, listEntries, runLedgerCheck, type EntryRequest } from '../services/operations/admin/entries.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { toTable } from '../services/operations/admin/format/table.ts'
import { listHolds } from '../services/operations/admin/holds.ts'
import type { PageRequest } from '../services/operations/admin/page.ts'
import { parseTime, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'
import { addSuspenseCommands } from './suspense.ts'

/** Adds `ledger check`, `ledger entries`, `ledger holds` and `ledger suspense`. */
export function addLedgerCommands (program: Command, session: Session): void {
  const ledger = program.command('ledger').description('inspect the ledger')

  withJson(ledger.command('check'))
    .description('check that the ledger is consistent; exits with 1 if it is not')
    .action(async (options: JsonOption) => {
      const check = await session.administer(runLedgerCheck)
      session.print(options, check, () => report(check))
      if (!check.ok) session.fail()
    })

  withPaging(withJson(ledger.command('entries')))
    .description('list entries, newest first')
    .option('--account <account>', 'only entries of this account')
    .addOption(new Option('--kind <kind>', 'only entries of this kind').choices(entryKinds))
    .option('--from <time>', 'only entries from this time on', parseTime)
    .option('--to <time>', 'only entries before this time', parseTime)
    .option('--month <month>', 'only entries of this month (UTC), e.g. 2026-10')
    .addOption(new Option('--csv', 'print all rows as CSV').conflicts(['json', 'limit', 'after']))
    .action(async ({ json, csv = false, limit, after, ...filter }: EntryOptions) => {
      if (csv) {
        return await session.administer(administration => session.stream(entriesCsv(administration, filter)))
      }
      await session.list({ json }, entryColumns,
        administration => listEntries(administration, { ...filter, limit, after }))
    })

  withPaging(withJson(ledger.command('holds <account>')))
    .description('list the holds of an account, newest first')
    .action(async (account: string, options: JsonOption & PageRequest) => await session.list(
      options, holdColumns, administration => listHolds(administration, { ...options, account })))

  addSuspenseCommands(ledger, session)
}

type EntryOptions = JsonOption & EntryRequest & { csv?: boolean }

function report ({ ok, violations }: LedgerCheck): string {
  if (ok) return 'The books add up.\n'
  const byRule = new Map(violations.map(({ rule, meaning, advice }) => [rule, `${meaning} ${advice}`]))
  const explained = [...byRule].map(([rule, text]) => `\n${rule}\n  ${text}\n`)
  return toTable(violationColumns, violations) + explained.join('')
}

const violationColumns: Column<LedgerCheck['violations'][number]>[] = [
  { name: 'rule', cell: ({ rule }) => rule },
  { name: 'subject', cell: ({ subject }) => subject },
  { name: 'expected', numeric: true, cell: ({ expected }) => String(expected ?? '') },
  { name: 'found', numeric: true, cell: ({ found }) => String(found ?? '') }
]

const holdColumns: Column<AdminHold>[] = [
  { name: 'created_at', cell: ({ created_at: at }) => at },
  { name: 'kind', cell: ({ kind }) => kind },
  { name: 'amount', numeric: true, cell: ({ amount_nano: nano }) => amountText(nano) },
  { name: 'job', cell: ({ job }) => job ?? '' },
  { name: 'model', cell: ({ model }) => model ?? '' },
  { name: 'node', cell: ({ node }) => node ?? '' },
  { name: 'expires_at', cell: ({ expires_at: at }) => at ?? '' }
]

const entryColumns: Column<Entry>[] = [
  { name: 'at', cell: ({ at }) => at },
  { name: 'kind', cell: ({ kind }) => kind },
  { name: 'debit', cell: ({ debit }) => debit },
  { name: 'credit', cell: ({ credit }) => credit },
  { name: 'amount', numeric: true, cell: (entry) => amountText(entry.amount_nano) },
  { name: 'model', cell: ({ model }) => model ?? '' },
  { name: 'id', cell: ({ id }) => id },
  { name: 'note', cell: ({ reason, reverses }) => reason ?? reverses ?? '' }
]
