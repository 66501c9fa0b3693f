import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useList } from '../api/list.ts'
import { amountOf, newPosting, typedUsd } from '../api/money.ts'
import { book, inWords, reversalId, reversalOf, type BookedEntry } from '../api/postings.ts'
import { Action, FormDialog, Opener } from '../parts/action.tsx'
import { Field } from '../parts/field.tsx'
import { ChoiceFilter, Filters, MonthFilter, TimeFilter } from '../parts/filter.tsx'
import { exactUsd, Money } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link, query } from '../router.ts'
import { may } from '../session.ts'
import { entryKinds } from '../words.ts'

interface AccountEntriesProps {
  account: string
  /** Whether anything can still be booked. */
  isOpen: boolean
  /** Another one loads the entries again. */
  version: number
  onChange (): void
}

/** The entries of an account, each with what made it, and what takes it back where the books allow that. */
export function AccountEntries ({ account, isOpen, version, onChange }: AccountEntriesProps): JSX.Element {
  const { kind, month, from, to } = query.value
  const chosen = { account, kind, month, from, to }
  const list = useList<BookedEntry>('/admin/entries', chosen, version)
  const isReversed = ({ id }: BookedEntry): boolean => list.rows.some(row => row.id === reversalId(id))
  const columns: readonly Column<BookedEntry>[] = [
    { name: 'Time', cell: ({ at }) => <Time at={at} />, csv: ({ at }) => at },
    { name: 'Kind', cell: ({ kind }) => kind, csv: ({ kind }) => kind },
    { name: 'For', cell: entry => <Origin entry={entry} account={account} />, csv: ({ ref, reason }) => ref ?? reason },
    { name: 'Entry', csv: ({ id }) => id },
    { name: 'Month', isSecondary: true, cell: ({ month }) => month, csv: ({ month }) => month },
    { name: 'By', isSecondary: true, cell: ({ actor }) => actor ?? '–', csv: ({ actor }) => actor },
    {
      name: 'Amount',
      isNumber: true,
      cell: entry => <Amount entry={entry} />,
      csv: ({ change_nano: nano }) => nano === null ? null : exactUsd(nano)
    },
    ...may('money') && isOpen
      ? [{
          name: 'Actions',
          cell: (entry: BookedEntry) => entry.kind === 'usage'
            ? <Refund entry={entry} onChange={onChange} />
            : !isReversed(entry) && <Reverse entry={entry} onChange={onChange} />
        }]
      : []
  ]
  return (
    <>
      <Filters names={['kind', 'month', 'from', 'to']}>
        <ChoiceFilter name='kind' label='Kind' all='Any' options={entryKinds} />
        <MonthFilter />
        <TimeFilter name='from' label='From' />
        <TimeFilter name='to' label='To' />
      </Filters>
      <ListTable
        label='Entries' list={list} columns={columns} keyOf={({ id }) => id}
        source={{ path: '/admin/entries', query: chosen, name: `entries-${account}` }}
        empty={<Empty title={[kind, month, from, to].every(one => one === undefined) ? 'Nothing is booked yet' : 'No entry matches'}><p>Deposits, charges and refunds appear here, each with its exact amount.</p></Empty>}
      />
    </>
  )
}

/** What an entry adds to the account or takes away; a transfer may only move money among the accounts below it. */
function Amount ({ entry: { change_nano: change, amount_nano: moved } }: { entry: BookedEntry }): JSX.Element {
  if (change !== 0n || moved === 0n) return <Money nano={change} />
  return <><Money nano={change} /><span class='extra'><br /><small class='muted'>moved <Money nano={moved} /></small></span></>
}

function Origin ({ entry: { ref, reason, model, debit, credit, kind }, account }: { entry: BookedEntry, account: string }): JSX.Element {
  if (ref !== null) return <a href={link(ref.startsWith('req_') ? 'requests' : 'jobs', ref)}>{model ?? ref}</a>
  if (kind !== 'transfer') return <>{reason ?? '–'}</>
  const name = (id: string): ComponentChildren => id === 'another account' ? id : <a href={link('accounts', id)}>{id}</a>
  return (
    <p>
      {debit !== account && <>from {name(debit)} </>}{credit !== account && <>to {name(credit)}</>}{reason !== null && `, ${reason}`}
    </p>
  )
}

interface CorrectionProps {
  entry: BookedEntry
  onChange (): void
}

function Reverse ({ entry, onChange }: CorrectionProps): JSX.Element | null {
  const posting = reversalOf(entry)
  if (posting === null) return null
  return (
    <Action label='Reverse…' title='Reverse an entry' does='Reverse' run={async () => await book(posting, onChange)}>
      <p>{inWords(entry)}. The same amount is booked back in an entry of its own; both stay in the books.</p>
    </Action>
  )
}

function Refund ({ entry, onChange }: CorrectionProps): JSX.Element {
  return <Opener label='Refund…'>{close => <RefundDialog entry={entry} onChange={onChange} onClose={close} />}</Opener>
}

function RefundDialog ({ entry, onChange, onClose }: CorrectionProps & { onClose (): void }): JSX.Element {
  const [text, setText] = useState('')
  const [id] = useState(newPosting)
  const isAll = text.trim() === ''
  const amount = isAll ? 'all that is left' : typedUsd(text)
  const body = (): object => ({ entry: entry.id, ...!isAll && { amount_usd: amountOf('Amount', text) } })
  return (
    <FormDialog
      title='Refund a charge' does={amount === '' ? 'Refund' : `Refund ${amount} to ${entry.debit}`} onClose={onClose}
      run={async () => await book({ verb: 'refunds', account: entry.debit, body: { id, ...body() } }, onChange)}
    >
      <p>The charge was <Money nano={entry.amount_nano} />.</p>
      <Field label='Amount in US dollars' value={text} onValue={setText} inputmode='decimal' hint='Empty: all that is left of the charge.' />
    </FormDialog>
  )
}
