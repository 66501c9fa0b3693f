import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { amountOf, newPosting } from '../api/money.ts'
import { call } from '../api/fetch.ts'
import { useLoad } from '../api/load.ts'
import { Action } from '../parts/action.tsx'
import { Fact, Field } from '../parts/field.tsx'
import { Money, shortUsd } from '../parts/money.tsx'
import { Failure, Loading } from '../parts/states.tsx'
import { link } from '../router.ts'
import { isUser, may } from '../session.ts'
import { AccountEntries } from './account-entries.tsx'
import { AccountState, type KnownAccount } from './accounts.tsx'
import { KeyTable, NewKeyButton } from './keys.tsx'

/** One account: its money, its keys and its entries. */
export function AccountPage ({ id }: { id: string }): JSX.Element {
  const path = `/admin/accounts/${encodeURIComponent(id)}`
  const loaded = useLoad<KnownAccount>(path)
  const [version, setVersion] = useState(0)
  useEffect(() => { document.title = `${id} – Tollgate` }, [id])
  const account = loaded.answer
  function reload (): void {
    loaded.reload()
    setVersion(version + 1)
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
          <Actions account={account} path={path} onChange={reload} />
          <div class='head'><h2>Keys</h2>{may('operate') && account.state !== 'closed' && <NewKeyButton account={id} onCreate={reload} />}</div>
          <KeyTable account={id} key={`keys ${version}`} />
          <h2>Entries</h2>
          <AccountEntries account={id} key={`entries ${version}`} onRefund={reload} />
        </article>
      )}
    </>
  )
}

function Figures ({ account }: { account: KnownAccount }): JSX.Element {
  const { id, soft_budget: budget, limits } = account
  return (
    <>
      <dl class='facts big'>
        <Fact name='Balance'><Money nano={account.balance_nano} /></Fact>
        <Fact name='Held'><Money nano={account.held_nano} /></Fact>
        <Fact name='Available'><Money nano={account.available_nano} /></Fact>
        <Fact name='Spent'><a href={link('usage', { account: id })}><Money nano={account.spent_nano} /></a></Fact>
      </dl>
      <dl class='facts'>
        <Fact name='Credits'><Money nano={account.credits_nano} /></Fact>
        {account.allocated_nano !== 0n && <Fact name='Allocated below'><Money nano={account.allocated_nano} /></Fact>}
        {budget !== null && <Fact name={`Soft budget ${budget.period === null ? 'in all' : `a ${budget.period}`}`}><Money nano={budget.amount_nano} /></Fact>}
        {limits.requests_per_minute !== null && <Fact name='Requests a minute'>{limits.requests_per_minute.toLocaleString('en-US')}</Fact>}
        {limits.tokens_per_minute !== null && <Fact name='Tokens a minute'>{limits.tokens_per_minute.toLocaleString('en-US')}</Fact>}
        {limits.concurrent_requests !== null && <Fact name='At the same time'>{limits.concurrent_requests}</Fact>}
        <Fact name='Requests'><a href={link('requests', { account: id })}>See the log</a></Fact>
      </dl>
    </>
  )
}

interface ActionsProps {
  account: KnownAccount
  path: string
  onChange (): void
}

function Actions ({ account, path, onChange }: ActionsProps): JSX.Element | null {
  const { id, state, balance_nano: balance } = account
  const [reason, setReason] = useState('')
  const [takesOut, setTakesOut] = useState(false)
  if (isUser() || state === 'closed') return null
  const post = async (verb: string, body: object): Promise<void> => {
    await call(`${path}/${verb}`, { method: 'POST', body })
    onChange()
  }
  const withReason = reason.trim() === '' ? {} : { reason: reason.trim() }
  return (
    <div class='actions'>
      {may('money') && <Deposit id={id} path={path} onChange={onChange} />}
      {may('operate') && state === 'active' && (
        <Action label='Freeze…' title={`Freeze ${id}`} does='Freeze' run={async () => await post('freeze', withReason)}>
          <p>Its requests, and those of accounts below it, are refused until it is unfrozen. Its money stays.</p>
          <Field label='Reason' value={reason} onValue={setReason} />
        </Action>
      )}
      {may('operate') && state === 'frozen' && (
        <Action label='Unfreeze…' title={`Unfreeze ${id}`} does='Unfreeze' run={async () => await post('unfreeze', withReason)}>
          <p>Its requests are accepted again.</p>
        </Action>
      )}
      {may('own') && (
        <Action
          label='Close…' title={`Close ${id} for good`} does='Close the account' confirm={id}
          run={async () => await post('close', { ...withReason, ...takesOut && { take_out: true } })}
        >
          <p>A closed account cannot be opened again. Its entries stay in the books.</p>
          {balance !== 0n && (
            <label>
              <input type='checkbox' checked={takesOut} onChange={event => setTakesOut(event.currentTarget.checked)} /> Take the {shortUsd(balance)} out of the books
            </label>
          )}
          <Field label='Reason' value={reason} onValue={setReason} />
        </Action>
      )}
    </div>
  )
}

function Deposit ({ id, path, onChange }: { id: string, path: string, onChange (): void }): JSX.Element {
  const [amount, setAmount] = useState('')
  const [posting, setPosting] = useState(newPosting)
  async function deposit (): Promise<void> {
    await call(`${path}/deposits`, { method: 'POST', body: { id: posting, amount_usd: amountOf(amount) } })
    setPosting(newPosting())
    setAmount('')
    onChange()
  }
  return (
    <Action label='Deposit' title={`Deposit to ${id}`} does='Deposit' isPrimary run={deposit}>
      <Field label='Amount in US dollars' value={amount} onValue={setAmount} required placeholder='25.00' />
    </Action>
  )
}
