import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useList } from '../api/list.ts'
import { TextFilter } from '../parts/filter.tsx'
import { exactUsd } from '../parts/money.tsx'
import { Empty } from '../parts/states.tsx'
import { ListTable, type Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link, query, segments } from '../router.ts'
import { isUser, may } from '../session.ts'
import { KeyPage } from './key.tsx'
import { plainColumns } from './key-fields.tsx'
import { Budget, KeyState, stateOf, type KnownKey } from './key-state.tsx'
import { NewKeyDialog } from './new-key.tsx'

/** All keys, or one. */
export function KeysPage (): JSX.Element {
  const [, id] = segments.value
  const [version, setVersion] = useState(0)
  if (id !== undefined) return <KeyPage key={id} id={id} />
  const { account, search } = query.value
  return (
    <>
      <div class='head'>
        <h1>Keys</h1>
        {may('operate') && <NewKeyButton account={account ?? 'default'} onCreate={() => setVersion(before => before + 1)} />}
      </div>
      <div class='filters'>
        <TextFilter name='search' label='Label or id begins with' />
        {!isUser() && <TextFilter name='account' label='Account' />}
      </div>
      <KeyTable account={account} search={search} version={version} />
    </>
  )
}

interface KeyTableProps {
  account: string | undefined
  /** What label or id begin with. */
  search?: string | undefined
  /** Another one loads the keys again. */
  version: number
  /** After the keys have come, or not. */
  onLoad?: () => void
}

/** The keys of an account, or of all. */
export function KeyTable ({ account, search, version, onLoad }: KeyTableProps): JSX.Element {
  const list = useList<KnownKey>('/admin/keys', { account, search }, version)
  useEffect(() => { if (list.state !== 'loading') onLoad?.() }, [list.state])
  return (
    <ListTable
      label='Keys' list={list} columns={columns} keyOf={({ id }) => id} href={({ id }) => link('keys', id)}
      source={{ path: '/admin/keys', query: { account, search }, name: 'keys' }}
      empty={<Empty title={search === undefined ? 'No keys yet' : 'No key begins with that'}><p>A key lets a program use this gateway and spend an account’s balance.</p></Empty>}
    />
  )
}

/** Opens the dialog that creates a key. */
export function NewKeyButton ({ account, onCreate }: { account: string, onCreate (): void }): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  function close (wasCreated: boolean): void {
    setOpen(false)
    if (wasCreated) onCreate()
  }
  return (
    <>
      <button type='button' class='primary' onClick={() => setOpen(true)}>New key</button>
      {isOpen && <NewKeyDialog account={account} onClose={close} />}
    </>
  )
}

const columns: readonly Column<KnownKey>[] = [
  { name: 'Key', cell: ({ id, label }) => label === '' ? <code>{id}</code> : <>{label} <small class='muted'>{id}</small></>, csv: ({ id }) => id },
  ...plainColumns,
  { name: 'State', cell: key => <KeyState keyOf={key} />, csv: stateOf },
  { name: 'Role', isSecondary: true, cell: ({ role }) => role, csv: ({ role }) => role },
  { name: 'Account', isSecondary: true, cell: ({ account }) => <a href={link('accounts', account)}>{account}</a>, csv: ({ account }) => account },
  { name: 'Budget', isSecondary: true, cell: ({ budget }) => <Budget budget={budget} />, csv: ({ budget }) => budget === null ? null : exactUsd(budget.amount_nano) },
  { name: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} />, csv: ({ last_used_at: at }) => at }
]
