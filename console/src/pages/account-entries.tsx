import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Static } from '@sinclair/typebox'
import type { Entry } from '../../../schemas/admin/entries.ts'
import { call } from '../api/fetch.ts'
import { useList } from '../api/list.ts'
import { amountOf, newPosting } from '../api/money.ts'
import type { Received } from '../api/received.ts'
import { Action } from '../parts/action.tsx'
import { Field } from '../parts/field.tsx'
import { exactUsd, Money } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link } from '../router.ts'
import { may } from '../session.ts'

type BookedEntry = Received<Static<typeof Entry>>

interface AccountEntriesProps {
  account: string
  onRefund (): void
}

/** The entries of an account, each with the request that made it, and a refund where there is one to give. */
export function AccountEntries ({ account, onRefund }: AccountEntriesProps): JSX.Element {
  const list = useList<BookedEntry>('/admin/entries', { account })
  const columns: readonly Column<BookedEntry>[] = [
    { name: 'Time', cell: ({ at }) => <Time at={at} />, csv: ({ at }) => at },
    { name: 'Kind', cell: ({ kind }) => kind, csv: ({ kind }) => kind },
    { name: 'For', cell: entry => <Origin entry={entry} />, csv: ({ ref, reason }) => ref ?? reason },
    { name: 'Entry', csv: ({ id }) => id },
    {
      name: 'Amount',
      isNumber: true,
      cell: ({ amount_nano: nano, credit }) => <Money nano={credit === account ? nano : -nano} />,
      csv: ({ amount_nano: nano, credit }) => exactUsd(credit === account ? nano : -nano)
    },
    ...may('money')
      ? [{ name: 'Refund', csv: () => '', cell: (entry: BookedEntry) => entry.kind === 'usage' && <Refund entry={entry} account={account} onRefund={onRefund} /> }]
      : []
  ]
  return (
    <ListTable
      label='Entries' list={list} columns={columns} keyOf={({ id }) => id} source={{ path: '/admin/entries', query: { account }, name: `entries-${account}` }}
      empty={<Empty title='Nothing is booked yet'><p>Deposits, charges and refunds appear here, each with its exact amount.</p></Empty>}
    />
  )
}

function Origin ({ entry: { ref, reason, model } }: { entry: BookedEntry }): JSX.Element {
  if (ref !== null) return <><a href={link(ref.startsWith('req_') ? 'requests' : 'jobs', ref)}>{model ?? ref}</a></>
  return <>{reason ?? '–'}</>
}

function Refund ({ entry, account, onRefund }: { entry: BookedEntry } & AccountEntriesProps): JSX.Element {
  const [amount, setAmount] = useState('')
  const [posting] = useState(newPosting)
  async function refund (): Promise<void> {
    const body = { id: posting, entry: entry.id, ...amount.trim() !== '' && { amount_usd: amountOf(amount) } }
    await call(`/admin/accounts/${encodeURIComponent(account)}/refunds`, { method: 'POST', body })
    onRefund()
  }
  return (
    <Action label='Refund…' title='Refund a charge' does='Refund' run={refund}>
      <p>The charge was <Money nano={entry.amount_nano} />.</p>
      <Field label='Amount in US dollars' value={amount} onValue={setAmount} hint='Empty: all that is left of the charge.' />
    </Action>
  )
}
