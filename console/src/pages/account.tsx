import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLoad } from '../api/load.ts'
import { Fact } from '../parts/field.tsx'
import { LimitWords } from '../parts/limits.tsx'
import { Money } from '../parts/money.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { link, segments } from '../router.ts'
import { isUser, may } from '../session.ts'
import { AccountActions } from './account-actions.tsx'
import { AccountEntries } from './account-entries.tsx'
import { AccountState, type KnownAccount } from './account-state.tsx'
import { KeyTable, NewKeyButton } from './keys.tsx'

/** One account: its money, its keys and its entries. */
export function AccountPage ({ id }: { id: string }): JSX.Element {
  const loaded = useLoad<KnownAccount>(`/admin/accounts/${encodeURIComponent(id)}`)
  const [version, setVersion] = useState(0)
  // What lies below the keys waits for them, so that nothing on the page moves.
  const [hasKeys, setHasKeys] = useState(false)
  const at = location.href
  useEffect(() => {
    if (hasKeys && location.hash === '#entries') document.getElementById('entries')?.scrollIntoView()
  }, [hasKeys, at])
  const account = loaded.answer
  function reload (): void {
    loaded.reload()
    setVersion(before => before + 1)
  }
  return (
    <>
      {!isUser() && <p><a href={link('accounts')}>Accounts</a></p>}
      <h1>{account?.name ?? id}</h1>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={reload} />}
      {loaded.state === 'loading' && account === null && <Loading />}
      {account !== null && (
        <article>
          <p class='lead'><AccountState state={account.state} /> <code>{account.id}</code>
            {account.parent !== null && <>part of <a href={link('accounts', account.parent)}>{account.parent}</a></>}
          </p>
          <Figures account={account} />
          <AccountActions account={account} onChange={reload} />
          <div class='head'><h2>Keys</h2>{may('operate') && account.state !== 'closed' && <NewKeyButton account={id} onCreate={reload} />}</div>
          <KeyTable account={id} version={version} onLoad={() => setHasKeys(true)} />
          {hasKeys && <h2 id='entries'>Entries</h2>}
          {hasKeys && <AccountEntries account={id} isOpen={account.state !== 'closed'} version={version} onChange={reload} />}
        </article>
      )}
    </>
  )
}

function Figures ({ account }: { account: KnownAccount }): JSX.Element {
  const { id, soft_budget: budget, low_balance: low, limits } = account
  const entries = (kind?: string): string => `${link(...segments.value, { kind })}#entries`
  return (
    <>
      <dl class='facts big'>
        <Fact name='Balance'><a href={entries()}><Money nano={account.balance_nano} /></a></Fact>
        <Fact name='Held'><a href={link('accounts', id, 'holds')}><Money nano={account.held_nano} /></a></Fact>
        <Fact name='Available'><Money nano={account.available_nano} /></Fact>
        <Fact name='Spent'><a href={link('usage', { account: id })}><Money nano={account.spent_nano} /></a></Fact>
      </dl>
      <dl class='facts'>
        <Fact name='Credits'><a href={entries('deposit')}><Money nano={account.credits_nano} /></a></Fact>
        {account.allocated_nano !== 0n && <Fact name='Allocated below'><a href={entries('transfer')}><Money nano={account.allocated_nano} /></a></Fact>}
        {budget !== null && <Fact name={`Soft budget ${budget.period === null ? 'in all' : `a ${budget.period}`}`}><Money nano={budget.amount_nano} /></Fact>}
        {low !== null && <Fact name='Low balance'><Money nano={low.amount_nano} /></Fact>}
        <Fact name='Limits'><LimitWords limits={limits} /></Fact>
        <Fact name='Requests'><a href={link('requests', { account: id })}>See the log</a></Fact>
      </dl>
    </>
  )
}
