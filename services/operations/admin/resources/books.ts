import { BalanceAt, BalanceQuery, StatementList, StatementQuery } from '../../../../schemas/admin/books.ts'
import { amountText } from '../amounts.ts'
import { getBalanceAt } from '../books.ts'
import { operation, option } from '../operation.ts'
import { toPageRequest, toTime } from '../query.ts'
import { listStatements, statementColumns, statementsCsv } from '../statements.ts'

/** Statements and past balances. */
export const bookOperations = [
  operation('GET /statements', 'read', {
    summary: 'Show the statements of a month: opening balance, movements and closing balance of each account',
    query: StatementQuery,
    result: StatementList,
    run: (administration, { query: { month, account, ...page } }) =>
      listStatements(administration, { month, account, ...toPageRequest(page) }),
    csv: {
      name: ({ month }) => `statements-${month}`,
      rows: (administration, { month, account }) => statementsCsv(administration, { month, account })
    },
    command: {
      name: 'books statements <month>',
      description: 'print opening balance, movements and closing balance of each account in US dollars',
      options: { account: option('--account <account>', 'only this account') },
      columns: () => statementColumns
    }
  }),
  operation('GET /accounts/:id/balance', 'read', {
    ownAccount: 'path',
    summary: 'Show the balance of an account at a time',
    query: BalanceQuery,
    result: BalanceAt,
    run: (administration, { id, query: { at } }) => getBalanceAt(administration, id, toTime('at', at)),
    command: {
      name: 'books balance <account>',
      description: 'show the balance of an account at a time',
      options: { at: option('--at <time>', 'the time (default: now)', { as: 'time' }) },
      text: ({ balance_nano: balance }) => `${amountText(balance)}\n`
    }
  })
]
