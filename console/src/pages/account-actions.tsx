import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/fetch.ts'
import { Action, FormDialog, Opener } from '../parts/action.tsx'
import { Field } from '../parts/field.tsx'
import { shortUsd } from '../parts/money.tsx'
import { announce } from '../parts/toast.tsx'
import { isUser, may } from '../session.ts'
import { Movements } from './account-movements.tsx'
import { AccountSettings } from './account-settings.tsx'
import type { KnownAccount } from './account-state.tsx'

interface ActionsProps {
  account: KnownAccount
  onChange (): void
}

/** What the signed-in key may do with an account. */
export function AccountActions ({ account, onChange }: ActionsProps): JSX.Element | null {
  const { id, state } = account
  if (isUser() || state === 'closed') return null
  const post = async (verb: string, body: object = {}): Promise<void> => {
    await call(`/admin/accounts/${encodeURIComponent(id)}/${verb}`, { method: 'POST', body })
    onChange()
  }
  return (
    <div class='actions'>
      {may('money') && <Movements account={account} onChange={onChange} />}
      {may('operate') && (
        <Opener label='Settings…'>{close => <AccountSettings account={account} onChange={onChange} onClose={close} />}</Opener>
      )}
      {may('operate') && state === 'active' && <Opener label='Freeze…'>{close => <FreezeDialog id={id} post={post} onClose={close} />}</Opener>}
      {may('operate') && state === 'frozen' && (
        <Action label='Unfreeze…' title={`Unfreeze ${id}`} does='Unfreeze' run={async () => await post('unfreeze')}>
          <p>Its requests are accepted again.</p>
        </Action>
      )}
      {may('own') && <Opener label='Close…' tone='danger'>{close => <CloseDialog account={account} post={post} onClose={close} />}</Opener>}
    </div>
  )
}

interface DialogProps {
  post (verb: string, body?: object): Promise<void>
  onClose (): void
}

function FreezeDialog ({ id, post, onClose }: DialogProps & { id: string }): JSX.Element {
  const [reason, setReason] = useState('')
  async function freeze (): Promise<void> {
    await post('freeze', withReason(reason))
    announce(`Froze ${id}.`, async () => await post('unfreeze'))
  }
  return (
    <FormDialog title={`Freeze ${id}`} does='Freeze' run={freeze} onClose={onClose}>
      <p>Its requests, and those of accounts below it, are refused until it is unfrozen. Its money stays.</p>
      <Field label='Reason' value={reason} onValue={setReason} />
    </FormDialog>
  )
}

function CloseDialog ({ account: { id, balance_nano: balance }, post, onClose }: DialogProps & { account: KnownAccount }): JSX.Element {
  const [reason, setReason] = useState('')
  const [takesOut, setTakesOut] = useState(false)
  return (
    <FormDialog
      title={`Close ${id} for good`} does='Close the account' confirm={id} onClose={onClose}
      run={async () => await post('close', { ...withReason(reason), ...takesOut && { take_out: true } })}
    >
      <p>A closed account cannot be opened again. Its entries stay in the books.</p>
      {balance !== 0n && (
        <label>
          <input type='checkbox' checked={takesOut} onChange={event => setTakesOut(event.currentTarget.checked)} /> Take the {shortUsd(balance)} out of the books
        </label>
      )}
      <Field label='Reason' value={reason} onValue={setReason} />
    </FormDialog>
  )
}

function withReason (text: string): { reason?: string } {
  return text.trim() === '' ? {} : { reason: text.trim() }
}
