import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/fetch.ts'
import { useList } from '../api/list.ts'
import { Action } from '../parts/action.tsx'
import { Field } from '../parts/field.tsx'
import { TextFilter } from '../parts/filter.tsx'
import { exactUsd, Money } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { go, link, query, segments } from '../router.ts'
import { may, session } from '../session.ts'
import { AccountPage } from './account.tsx'
import { AccountState, type KnownAccount } from './account-state.tsx'
import { HoldsPage } from './holds.tsx'

/** All accounts, or one. */
export function AccountsPage (): JSX.Element {
  const [, id, part] = segments.value
  const own = session.value?.account ?? undefined
  const shown = id ?? own
  if (shown === undefined) return <AccountList />
  return part === 'holds' ? <HoldsPage key={shown} account={shown} /> : <AccountPage key={shown} id={shown} />
}

function AccountList (): JSX.Element {
  const { search } = query.value
  const list = useList<KnownAccount>('/admin/accounts', { search })
  return (
    <>
      <div class='head'>
        <h1>Accounts</h1>
        {may('operate') && <NewAccount />}
      </div>
      <div class='filters'><TextFilter name='search' label='Name or id begins with' /></div>
      <ListTable
        label='Accounts' list={list} columns={columns} keyOf={({ id }) => id} href={({ id }) => link('accounts', id)}
        source={{ path: '/admin/accounts', query: { search }, name: 'accounts' }}
        empty={<Empty title={search === undefined ? 'No accounts yet' : 'No account begins with that'}><p>An account has a balance, and keys that spend it.</p></Empty>}
      />
    </>
  )
}

const columns: readonly Column<KnownAccount>[] = [
  { name: 'Account', cell: ({ id, name }) => <>{name}{name !== id && <small class='muted'> {id}</small>}</>, csv: ({ id }) => id },
  { name: 'Name', csv: ({ name }) => name },
  { name: 'State', cell: ({ state }) => <AccountState state={state} />, csv: ({ state }) => state },
  { name: 'Part of', isSecondary: true, cell: ({ parent }) => parent === null ? '–' : <a href={link('accounts', parent)}>{parent}</a>, csv: ({ parent }) => parent },
  { name: 'Credits', isNumber: true, isSecondary: true, cell: ({ id, credits_nano: nano }) => <a href={`${link('accounts', id, { kind: 'deposit' })}#entries`}><Money nano={nano} /></a>, csv: ({ credits_nano: nano }) => exactUsd(nano) },
  { name: 'Spent', isNumber: true, isSecondary: true, cell: ({ id, spent_nano: nano }) => <a href={link('usage', { account: id })}><Money nano={nano} /></a>, csv: ({ spent_nano: nano }) => exactUsd(nano) },
  { name: 'Held', isNumber: true, isSecondary: true, cell: ({ id, held_nano: nano }) => <a href={link('accounts', id, 'holds')}><Money nano={nano} /></a>, csv: ({ held_nano: nano }) => exactUsd(nano) },
  { name: 'Balance', isNumber: true, cell: ({ balance_nano: nano }) => <Money nano={nano} />, csv: ({ balance_nano: nano }) => exactUsd(nano) }
]

function NewAccount (): JSX.Element {
  const [id, setId] = useState('')
  const [name, setName] = useState('')
  async function create (): Promise<void> {
    const body = { id: id.trim(), ...name.trim() !== '' && { name: name.trim() } }
    const made = await call<KnownAccount>('/admin/accounts', { method: 'POST', body })
    go(link('accounts', made.id))
  }
  return (
    <Action label='New account' title='New account' does='Create' isPrimary run={create}>
      <Field label='Id' value={id} onValue={setId} required hint='As it stands in the books, e.g. team-a. It never changes.' />
      <Field label='Name' value={name} onValue={setName} />
    </Action>
  )
}
