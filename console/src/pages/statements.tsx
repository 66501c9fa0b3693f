import type { JSX } from 'preact'
import type { Statement } from '../../../schemas/admin/books.ts'
import { useList } from '../api/list.ts'
import type { Received } from '../api/received.ts'
import { Choice } from '../parts/field.tsx'
import { TextFilter } from '../parts/filter.tsx'
import { exactUsd, Money } from '../parts/money.tsx'
import { monthAgo, monthChoices } from '../parts/months.ts'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { link, query, setQuery } from '../router.ts'

type KnownStatement = Received<Statement>
type Movement = keyof Statement['movements']

/** The statement of each account for a month: opening balance, movements, closing balance. */
export function StatementsPage (): JSX.Element {
  const thisMonth = monthAgo(0)
  const { month = thisMonth, account } = query.value
  const chosen = { month, account }
  const list = useList<KnownStatement>('/admin/statements', chosen)
  return (
    <>
      <h1>Statements</h1>
      <form class='filters' onSubmit={event => event.preventDefault()} aria-label='Filters'>
        <Choice
          label='Month (UTC)' value={month} onValue={month => setQuery({ month })}
          options={monthChoices(month)}
        />
        <TextFilter name='account' label='Account' />
      </form>
      <ListTable
        label='Statements' list={list} columns={columns} keyOf={({ account }) => account} source={{ path: '/admin/statements', query: chosen, name: `statements-${month}` }}
        empty={<Empty title='No account had been opened by then'><p>Choose a later month.</p></Empty>}
      />
    </>
  )
}

function movement (name: string, movement: Movement, kind: string): Column<KnownStatement> {
  const nanoOf = ({ movements }: KnownStatement): bigint => movements[movement].amount_nano
  return {
    name,
    isNumber: true,
    isSecondary: true,
    cell: row => nanoOf(row) === 0n ? <span class='muted'>–</span> : <a href={entriesOf(row, kind)}><Money nano={nanoOf(row)} /></a>,
    csv: row => exactUsd(nanoOf(row))
  }
}

/** The entries of a kind in the month. */
function entriesOf ({ account, month }: KnownStatement, kind?: string): string {
  return `${link('accounts', account, { kind, month })}#entries`
}

/** The statement of the month before, which this one begins with. */
function before ({ account, month }: KnownStatement): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return link('statements', { account, month: new Date(Date.UTC(year, number - 2)).toISOString().slice(0, 7) })
}

const columns: readonly Column<KnownStatement>[] = [
  {
    name: 'Account',
    cell: ({ account, name }) => <><a href={link('accounts', account)}>{name}</a>{name !== account && <small class='muted'> {account}</small>}</>,
    csv: ({ account }) => account
  },
  { name: 'Opening', isNumber: true, cell: row => <a href={before(row)}><Money nano={row.opening_nano} /></a>, csv: ({ opening_nano: nano }) => exactUsd(nano) },
  movement('Deposits', 'deposits', 'deposit'),
  movement('Withdrawals', 'withdrawals', 'withdraw'),
  movement('Transfers in', 'transfers_in', 'transfer'),
  movement('Transfers out', 'transfers_out', 'transfer'),
  movement('Adjustments', 'adjustments', 'adjust'),
  movement('Usage', 'usage', 'usage'),
  movement('Refunds', 'refunds', 'refund'),
  {
    name: 'Closing',
    isNumber: true,
    cell: row => <a href={entriesOf(row)}><Money nano={row.closing_nano} /></a>,
    csv: ({ closing_nano: nano }) => exactUsd(nano)
  }
]
