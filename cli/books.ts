import { Option, type Command } from 'commander'
import { amountText } from '../services/operations/admin/amounts.ts'
import { getBalanceAt } from '../services/operations/admin/books.ts'
import type { PageRequest } from '../services/operations/admin/page.ts'
import { listStatements, statementColumns, statementsCsv } from '../services/operations/admin/statements.ts'
import { parseTime, withJson, withPaging } from './options.ts'
import type { JsonOption, Session } from './session.ts'

/** Adds `books statements` and `books balance`. */
export function addBooksCommands (program: Command, session: Session): void {
  const books = program.command('books').description('print statements and balances')

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
