import type { JSX } from 'preact'
import type { AccountChange } from '../../../schemas/admin/accounts.ts'
import { amountOf, limitAmountOf, typedUsd } from '../api/money.ts'
import { FormDialog } from '../parts/action.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { readPeriod, typedBudget, useForm, type Texts } from '../parts/form.ts'
import { changedLimits, LimitFields, limitTexts, type LimitName } from '../parts/limits.tsx'
import { exactUsd } from '../parts/money.tsx'
import { saveChange } from '../parts/save-change.ts'
import type { KnownAccount } from './account-state.tsx'

type Name = LimitName | 'name' | 'budget' | 'period' | 'low'

interface SettingsProps {
  account: KnownAccount
  onChange (): void
  onClose (): void
}

/** Changes name, limits and what operators are told of an account; sends the fields that were touched. */
export function AccountSettings ({ account, onChange, onClose }: SettingsProps): JSX.Element {
  const form = useForm<Name>(textsOf(account))
  const budget = form.isChanged('budget', 'period') && typedBudget(form.values)
  const low = form.isChanged('low') && typedUsd(form.values.low)
  const amounts = [budget && `soft ${budget}`, low && `low balance ${low}`].filter(Boolean).join(', ')
  const path = `/admin/accounts/${encodeURIComponent(account.id)}`
  async function save (): Promise<void> {
    const before = changeOf(form.first, form.isChanged)
    await saveChange({ path, name: account.id, change: changeOf(form.values, form.isChanged), before, onChange })
  }
  return (
    <FormDialog title={`Settings of ${account.id}`} does={amounts === '' ? 'Save' : `Save: ${amounts}`} run={save} onClose={onClose}>
      <Field label='Name' {...form.field('name')} required />
      <LimitFields form={form} />
      <div class='pair'>
        <Field label='Soft budget in US dollars' {...form.field('budget')} placeholder='None' inputmode='decimal' />
        <Choice label='Per' {...form.field('period')} options={['day', 'week', 'month', ['', 'in all']]} />
      </div>
      <p class='muted'>Operators are alerted as the soft budget is used up; no request is refused for it.</p>
      <Field
        label='Low balance in US dollars' {...form.field('low')} placeholder='As in the configuration' inputmode='decimal'
        hint='Below it, operators are alerted.'
      />
    </FormDialog>
  )
}

function textsOf ({ name, limits, soft_budget: budget, low_balance: low }: KnownAccount): Texts<Name> {
  return {
    ...limitTexts(limits),
    name,
    budget: budget === null ? '' : exactUsd(budget.amount_nano),
    period: budget === null ? 'month' : budget.period ?? '',
    low: low === null ? '' : exactUsd(low.amount_nano)
  }
}

/** The fields of a change that were touched, with their texts of now or of before. */
function changeOf (texts: Texts<Name>, isChanged: (...names: Name[]) => boolean): AccountChange {
  const { name, budget, period, low } = texts
  return {
    ...isChanged('name') && { name: name.trim() },
    ...changedLimits(texts, isChanged),
    ...isChanged('budget', 'period') && { soft_budget: budget.trim() === '' ? null : { amount_usd: amountOf('Soft budget', budget), period: readPeriod(period) } },
    ...isChanged('low') && { low_balance: low.trim() === '' ? null : { amount_usd: limitAmountOf('Low balance', low) } }
  }
}
