import type { Statement } from '../../../schemas/admin/books.ts'
import {
  statementLines, sumPeriod, type AccountPeriod, type StatementLine
} from '../../billing/ledger/books/account-periods.ts'
import { readMonth, type Month } from '../../billing/ledger/books/months.ts'
import type { Store, Value } from '../../store/store.ts'
import { whereClause } from '../../store/where-clause.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'
import { amountFields, amountText } from './amounts.ts'
import type { Column } from './format/columns.ts'
import { toCsv } from './format/csv.ts'
import { allPages, readPage, type Page, type PageRequest } from './page.ts'

export interface StatementRequest {
  /** E.g. `2026-10`, in UTC. */
  month: string
  account?: string | undefined
}

interface AccountOfStatement { id: string, name: string, period: AccountPeriod | undefined }

/** Lists the statements of a month by account. Throws GatewayError 400, 404, StoreUnavailable. */
export async function listStatements (
  administration: Administration, { limit, after, month: name, account }: StatementRequest & PageRequest
): Promise<Page<Statement>> {
  const month = readMonth(name)
  if (account !== undefined) await getAccount(administration, account)
  await administration.flush()
  return await readPage({ limit, after }, {
    example: [''],
    read: (after, limit) => readAccounts(administration.store, month, { account, after: after?.[0], limit }),
    toItem: account => toStatement(account, name),
    cursorOf: ({ id }) => [id]
  })
}

/** Lists the statements of a month as CSV. Throws as `listStatements` does. */
export async function * statementsCsv (
  administration: Administration, request: StatementRequest
): AsyncGenerator<string, void, undefined> {
  yield * toCsv(statementColumns, allPages(page => listStatements(administration, { ...request, ...page })))
}

interface AccountsRequest { account: string | undefined, after: string | undefined, limit: number }

/** Reads the accounts that were there in a month, by id. */
async function readAccounts (
  store: Store, { startsAt, endsAt }: Month, { account, after, limit }: AccountsRequest
): Promise<AccountOfStatement[]> {
  const params: Value[] = [limit, endsAt]
  const where = whereClause([['id > ?', after ?? ''], ['id = ?', account]], params)
  const accounts = await store.reports.all<{ id: string, name: string }>(`
    select id, name from account where kind = 'account' and created_at < $2 and ${where}
    order by id limit $1`, params)
  const periods = await sumPeriod(store, { from: startsAt, to: endsAt }, accounts.map(({ id }) => id))
  return accounts.map(({ id, name }) => ({ id, name, period: periods.get(id) }))
}

function toStatement ({ id, name, period }: AccountOfStatement, month: string): Statement {
  const lineOf = (line: StatementLine) => amountFields('amount', period?.lines[line] ?? 0)
  return {
    object: 'statement',
    account: id,
    name,
    month,
    ...amountFields('opening', period?.openingNano ?? 0),
    movements: {
      deposits: lineOf('deposits'),
      withdrawals: lineOf('withdrawals'),
      transfers_in: lineOf('transfers_in'),
      transfers_out: lineOf('transfers_out'),
      adjustments: lineOf('adjustments'),
      usage: lineOf('usage'),
      refunds: lineOf('refunds')
    },
    ...amountFields('closing', period?.closingNano ?? 0)
  }
}

/** The columns of statements. */
export const statementColumns: Column<Statement>[] = [
  { name: 'account', cell: ({ account }) => account },
  { name: 'month', cell: ({ month }) => month },
  { name: 'opening_usd', numeric: true, cell: statement => amountText(statement.opening_nano) },
  ...statementLines.map((line): Column<Statement> => (
    { name: `${line}_usd`, numeric: true, cell: ({ movements }) => amountText(movements[line].amount_nano) })),
  { name: 'closing_usd', numeric: true, cell: statement => amountText(statement.closing_nano) }
]
