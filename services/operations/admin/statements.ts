import type { Statement } from '../../../schemas/admin/books.ts'
import { lastEntryNow, sumsBefore } from '../../billing/ledger/books/balances.ts'
import { readMonth } from '../../billing/ledger/books/months.ts'
import { balanceOf, noSums, statementLines, type LineSums, type StatementLine } from '../../billing/ledger/books/sums.ts'
import type { Value } from '../../store/store.ts'
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

interface AccountOfStatement { id: string, name: string, before: LineSums, after: LineSums }

/** Lists the statements of a month by account. Throws GatewayError 400, 404, StoreUnavailable. */
export async function listStatements (
  administration: Administration, { limit, after, ...request }: StatementRequest & PageRequest
): Promise<Page<Statement>> {
  const { list } = await openStatements(administration, request)
  return await list({ limit, after })
}

/** Lists the statements of a month as CSV. Throws as `listStatements` does. */
export async function * statementsCsv (
  administration: Administration, request: StatementRequest
): AsyncGenerator<string, void, undefined> {
  const { list } = await openStatements(administration, request)
  yield * toCsv(statementColumns, allPages(list))
}

/** Looks at the books once, for all pages. */
async function openStatements (administration: Administration, { month: name, account }: StatementRequest) {
  const { store, flush } = administration
  const { startsAt, endsAt } = readMonth(name)
  if (account !== undefined) await getAccount(administration, account)
  await flush()
  const lastEntry = await lastEntryNow(store)

  async function read (after: string, limit: number): Promise<AccountOfStatement[]> {
    const params: Value[] = [limit, endsAt]
    const where = whereClause([['id > ?', after], ['id = ?', account]], params)
    const accounts = await store.reports.all<{ id: string, name: string }>(`
      select id, name from account where kind = 'account' and created_at < $2 and ${where}
      order by id limit $1`, params)
    const ids = accounts.map(({ id }) => id)
    const opening = await sumsBefore(store, lastEntry, startsAt, ids)
    const closing = await sumsBefore(store, lastEntry, endsAt, ids)
    return accounts.map(({ id, name }) =>
      ({ id, name, before: opening.get(id) ?? noSums, after: closing.get(id) ?? noSums }))
  }

  return {
    async list (page: PageRequest): Promise<Page<Statement>> {
      return await readPage(page, {
        example: [''],
        read: async (after, limit) => await read(after?.[0] ?? '', limit),
        toItem: account => toStatement(account, name),
        cursorOf: ({ id }) => [id]
      })
    }
  }
}

function toStatement ({ id, name, before, after }: AccountOfStatement, month: string): Statement {
  const lineOf = (line: StatementLine) => amountFields('amount', after[line] - before[line])
  return {
    object: 'statement',
    account: id,
    name,
    month,
    ...amountFields('opening', balanceOf(before)),
    movements: {
      deposits: lineOf('deposits'),
      withdrawals: lineOf('withdrawals'),
      transfers_in: lineOf('transfers_in'),
      transfers_out: lineOf('transfers_out'),
      adjustments: lineOf('adjustments'),
      usage: lineOf('usage'),
      refunds: lineOf('refunds')
    },
    ...amountFields('closing', balanceOf(after))
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
