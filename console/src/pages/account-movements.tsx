import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { amountOf, newPosting, typedUsd } from '../api/money.ts'
import { book } from '../api/postings.ts'
import { AccountField } from '../parts/account-field.tsx'
import { FormDialog, Opener } from '../parts/action.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { useForm } from '../parts/form.ts'
import { Money } from '../parts/money.tsx'
import type { KnownAccount } from './account-state.tsx'

interface MovementsProps {
  account: KnownAccount
  onChange (): void
}

interface DialogProps extends MovementsProps { onClose (): void }

/** What moves money into an account, out of it, or to another. */
export function Movements (props: MovementsProps): JSX.Element {
  return (
    <>
      <Opener label='Deposit' tone='primary'>{onClose => <DepositDialog {...props} onClose={onClose} />}</Opener>
      <Opener label='Transfer…'>{onClose => <TransferDialog {...props} onClose={onClose} />}</Opener>
      <Opener label='Withdraw…'>{onClose => <WithdrawDialog {...props} onClose={onClose} />}</Opener>
      <Opener label='Adjust…'>{onClose => <AdjustDialog {...props} onClose={onClose} />}</Opener>
    </>
  )
}

function DepositDialog ({ account: { id: account }, onChange, onClose }: DialogProps): JSX.Element {
  const { values, field } = useForm({ amount: '' })
  const [id] = useState(newPosting)
  const amount = typedUsd(values.amount)
  return (
    <FormDialog
      title={`Deposit to ${account}`} onClose={onClose}
      does={amount === '' ? 'Deposit' : `Deposit ${amount} to ${account}`}
      run={async () => await book({ verb: 'deposits', account, body: { id, amount_usd: amountOf('Amount', values.amount) } }, onChange)}
    >
      <Field label='Amount in US dollars' {...field('amount')} required placeholder='25.00' inputmode='decimal' />
    </FormDialog>
  )
}

function TransferDialog ({ account: { id: account, ...rest }, onChange, onClose }: DialogProps): JSX.Element {
  const { values, field } = useForm({ to: '', amount: '', reason: '' })
  const [isAll, setAll] = useState(false)
  const [id] = useState(newPosting)
  const to = values.to.trim()
  const amount = isAll ? 'all' : typedUsd(values.amount)
  const body = (): object => ({ to, ...amountToTake(values.amount, isAll), ...reasonOf(values.reason) })
  return (
    <FormDialog
      title={`Transfer from ${account}`} onClose={onClose}
      does={amount === '' || to === '' ? 'Transfer' : `Transfer ${amount} to ${to}`}
      run={async () => await book({ verb: 'transfers', account, body: { id, ...body() } }, onChange)}
    >
      <AccountField label='To the account' {...field('to')} hint='Its id. To an account below this one, it is an allocation.' />
      <AmountToTake field={field('amount')} isAll={isAll} onAll={setAll} account={{ id: account, ...rest }} />
      <Field label='Reason' {...field('reason')} />
    </FormDialog>
  )
}

function WithdrawDialog ({ account: { id: account, ...rest }, onChange, onClose }: DialogProps): JSX.Element {
  const { values, field } = useForm({ amount: '', reason: '' })
  const [isAll, setAll] = useState(false)
  const [id] = useState(newPosting)
  const amount = isAll ? 'all' : typedUsd(values.amount)
  const body = (): object => ({ ...amountToTake(values.amount, isAll), ...reasonOf(values.reason) })
  return (
    <FormDialog
      title={`Withdraw from ${account}`} confirm={account} onClose={onClose}
      does={amount === '' ? 'Withdraw' : `Withdraw ${amount} from ${account}`}
      run={async () => await book({ verb: 'withdrawals', account, body: { id, ...body() } }, onChange)}
    >
      <p>The money leaves the books, as when a customer is paid back.</p>
      <AmountToTake field={field('amount')} isAll={isAll} onAll={setAll} account={{ id: account, ...rest }} />
      <Field label='Reason' {...field('reason')} required />
    </FormDialog>
  )
}

function AdjustDialog ({ account: { id: account }, onChange, onClose }: DialogProps): JSX.Element {
  const { values, field } = useForm({ way: 'add', amount: '', reason: '' })
  const [id] = useState(newPosting)
  const takesAway = values.way === 'take'
  const amount = typedUsd(values.amount)
  const body = (): object => ({ amount_usd: `${takesAway ? '-' : ''}${amountOf('Amount', values.amount)}`, ...reasonOf(values.reason) })
  return (
    <FormDialog
      title={`Adjust the credits of ${account}`} onClose={onClose} {...takesAway && { confirm: account }}
      does={amount === '' ? 'Adjust' : `Adjust by ${takesAway ? '−' : '+'}${amount}`}
      run={async () => await book({ verb: 'adjustments', account, body: { id, ...body() } }, onChange)}
    >
      <p>Corrects the books, as after a mistake. The statement of the month shows it apart from deposits.</p>
      <Choice label='Which way' {...field('way')} options={[['add', 'Add credit'], ['take', 'Take credit away']]} />
      <Field label='Amount in US dollars' {...field('amount')} required placeholder='25.00' inputmode='decimal' />
      <Field label='Reason' {...field('reason')} required hint='It stays in the books.' />
    </FormDialog>
  )
}

interface AmountToTakeProps {
  field: { value: string, onValue (value: string): void }
  isAll: boolean
  onAll (isAll: boolean): void
  account: KnownAccount
}

function AmountToTake ({ field, isAll, onAll, account: { available_nano: available } }: AmountToTakeProps): JSX.Element {
  return (
    <>
      {!isAll && <Field label='Amount in US dollars' {...field} required placeholder='25.00' inputmode='decimal' />}
      <label>
        <input type='checkbox' checked={isAll} onChange={event => onAll(event.currentTarget.checked)} /> All that is available, <Money nano={available} /> now
      </label>
    </>
  )
}

function amountToTake (amount: string, isAll: boolean): object {
  return isAll ? { amount: 'all' } : { amount_usd: amountOf('Amount', amount) }
}

function reasonOf (text: string): { reason?: string } {
  return text.trim() === '' ? {} : { reason: text.trim() }
}
