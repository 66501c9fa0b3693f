import type { JSX } from 'preact'
import type { AdminHold } from '../../../schemas/admin/holds.ts'
import { useList } from '../api/list.ts'
import type { Received } from '../api/received.ts'
import { exactUsd, Money } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link } from '../router.ts'
import { isUser } from '../session.ts'

type Hold = Received<AdminHold>

/** What an account has set aside: for jobs, and for the requests under way on each node. */
export function HoldsPage ({ account }: { account: string }): JSX.Element {
  const list = useList<Hold>('/admin/holds', { account })
  return (
    <>
      <p><a href={link('accounts', account)}>{account}</a></p>
      <div class='head'>
        <h1>Held</h1>
        <button type='button' class='plain' onClick={() => list.reload()}>Refresh</button>
      </div>
      <p class='muted'>Money is held for the most that a request or job may cost, until it ends. Each request is in the{' '}
        <a href={link('requests', { account })}>log</a> when it ends.
      </p>
      <ListTable
        label='Holds' list={list} columns={isUser() ? columns.filter(({ name }) => !ofOperators.includes(name)) : columns}
        keyOf={({ id }) => id} source={{ path: '/admin/holds', query: { account }, name: `holds-${account}` }}
        empty={<Empty title='Nothing is held'><p>No request or job of this account is under way.</p></Empty>}
      />
    </>
  )
}

const ofOperators = ['Node', 'Node seen']

const columns: readonly Column<Hold>[] = [
  { name: 'Since', cell: ({ created_at: at }) => <Time at={at} />, csv: ({ created_at: at }) => at },
  {
    name: 'For',
    cell: ({ job, model }) => job === null
      ? 'requests under way'
      : <><a href={link('jobs', job)}><code>{job}</code></a>{model !== null && <small class='muted'> {model}</small>}</>,
    csv: ({ job }) => job ?? 'requests'
  },
  { name: 'Key', isSecondary: true, cell: ({ key }) => key === null ? '–' : <a href={link('keys', key)}>{key}</a>, csv: ({ key }) => key },
  { name: 'Node', isSecondary: true, cell: ({ node }) => node ?? '–', csv: ({ node }) => node },
  { name: 'Node seen', isSecondary: true, cell: ({ node_seen_at: at }) => <Time at={at} />, csv: ({ node_seen_at: at }) => at },
  { name: 'Ends at the latest', isSecondary: true, cell: ({ expires_at: at }) => <Time at={at} />, csv: ({ expires_at: at }) => at },
  { name: 'Amount', isNumber: true, cell: ({ amount_nano: nano }) => <Money nano={nano} />, csv: ({ amount_nano: nano }) => exactUsd(nano) }
]
