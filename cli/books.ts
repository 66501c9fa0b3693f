import { Option, type Command } from 'commander'
import type { BooksMonth } from '../schemas/admin/books.ts'
import { amountText } from '../services/operations/admin/amounts.ts'
import { closeBooks, getBalanceAt, listClosedMonths } from '../services/operations/admin/books.ts'
import type { Column } from '../services/operations/admin/format/columns.ts'
import { toTable } from '../services/operations/admin/format/table.ts'
import type { PageRequest } from '../services/operations/admin/page.ts'
import { listStatements, statementColumns, statementsCsv } from '../services/operations/admin/statements.ts'
import { parseTime, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `books close`, `list`, `statements` and `balance`. */
export function addBooksCommands (program: Command, session: Session): void {
  const books = program.command('books').description('close months, and print statements')

  withJson(books.command('close <month>'))
    .description('close a month, e.g. 2026-10 (UTC), and all before it for good; later entries count in the next month')
    .action(async (name: string, options: JsonOption) => {
      const { month, created } = await session.administer(administration => closeBooks(administration, name))
      session.print(options, month, () => created
        ? `Closed ${month.month}.\n`
        : `${month.month} was closed at ${month.closed_at}; nothing was changed.\n`)
    })

  withJson(books.command('list'))
    .description('list the closed months, newest first')
    .action(async (options: JsonOption) =>
      await session.show(options, listClosedMonths, ({ data }) => toTable(monthColumns, data)))

  withPaging(withJson(books.command('statements <month>')))
    .description('print opening balance, movements and closing balance of each account in US dollars')
    .option('--account <account>', 'only this account')
    .addOption(new Option('--csv', 'print all rows as CSV').conflicts(['json', 'limit', 'after']))
    .action(async (month: string, { json, csv = false, account, ...page }: StatementOptions) => {
      const request = { month, account }
      if (csv) {
        return await session.administer(admin => session.stream(statementsCsv(admin, request)))
      }
      await session.list({ json }, statementColumns,
        administration => listStatements(administration, { ...request, ...page }))
    })

  withJson(books.command('balance <account>'))
    .description('show the balance of an account at a time')
    .option('--at <time>', 'the time (default: now)', parseTime)
    .action(async (account: string, { at, ...options }: JsonOption & { at?: number }) =>
      await session.show(options, administration => getBalanceAt(administration, account, at),
        balance => `${amountText(balance.balance_nano)}\n`))
}

type StatementOptions = JsonOption & PageRequest & { csv?: boolean, account?: string }

const monthColumns: Column<BooksMonth>[] = [
  { name: 'month', cell: ({ month }) => month },
  { name: 'closed_at', cell: ({ closed_at: at }) => at },
  { name: 'actor', cell: ({ actor }) => actor },
  { name: 'last_entry', cell: ({ last_entry: entry }) => entry }
]
