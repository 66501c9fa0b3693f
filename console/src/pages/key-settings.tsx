import type { JSX } from 'preact'
import type { KeyChange } from '../../../schemas/admin/keys.ts'
import { limitAmountOf } from '../api/money.ts'
import { FormDialog } from '../parts/action.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { readPeriod, typedBudget, useForm, type Texts } from '../parts/form.ts'
import { changedLimits, LimitFields, limitTexts, type LimitName } from '../parts/limits.tsx'
import { exactUsd } from '../parts/money.tsx'
import { saveChange } from '../parts/save-change.ts'
import type { KnownKey } from './key-state.tsx'

type Name = LimitName | 'label' | 'budget' | 'period' | 'models' | 'expires'

interface SettingsProps {
  keyOf: KnownKey
  onChange (): void
  onClose (): void
}

/** Changes label, budget, models, limits and the end of a key; sends the fields that were touched. */
export function KeySettings ({ keyOf: key, onChange, onClose }: SettingsProps): JSX.Element {
  const form = useForm<Name>(textsOf(key))
  const budget = form.isChanged('budget', 'period') && typedBudget(form.values)
  const path = `/admin/keys/${encodeURIComponent(key.id)}`
  async function save (): Promise<void> {
    const before = { ...changeOf(form.first, form.isChanged), ...form.isChanged('expires') && { expires_at: key.expires_at } }
    await saveChange({ path, name: key.label === '' ? key.id : key.label, change: changeOf(form.values, form.isChanged), before, onChange })
  }
  return (
    <FormDialog title='Settings of the key' does={budget ? `Save: ${budget}` : 'Save'} run={save} onClose={onClose}>
      <Field label='Label' {...form.field('label')} hint='What it is for, e.g. the app that uses it.' />
      {key.role === 'user' && (
        <>
          <div class='pair'>
            <Field label='Budget in US dollars' {...form.field('budget')} placeholder='No limit' inputmode='decimal' />
            <Choice label='Per' {...form.field('period')} options={['day', 'week', 'month', ['', 'in all']]} />
          </div>
          <Field label='Models' {...form.field('models')} hint='Names or patterns such as openai/*, separated by commas. Empty: all.' />
          <LimitFields form={form} />
        </>
      )}
      <Field label='Expires' type='date' {...form.field('expires')} hint='At the beginning of the day in UTC. Empty: never.' />
    </FormDialog>
  )
}

function textsOf ({ label, budget, models, limits, expires_at: expires }: KnownKey): Texts<Name> {
  return {
    ...limitTexts(limits),
    label,
    budget: budget === null ? '' : exactUsd(budget.amount_nano),
    period: budget === null ? 'month' : budget.period ?? '',
    models: models?.join(', ') ?? '',
    expires: expires?.slice(0, 10) ?? ''
  }
}

/** The fields of a change that were touched, with their texts of now or of before. */
function changeOf (texts: Texts<Name>, isChanged: (...names: Name[]) => boolean): KeyChange {
  const { label, budget, period, models, expires } = texts
  return {
    ...isChanged('label') && { label: label.trim() },
    ...isChanged('budget', 'period') && { budget: budget.trim() === '' ? null : { amount_usd: limitAmountOf('Budget', budget), period: readPeriod(period) } },
    ...isChanged('models') && { models: globsOf(models) },
    ...changedLimits(texts, isChanged),
    ...isChanged('expires') && { expires_at: expires === '' ? null : expires }
  }
}

function globsOf (text: string): string[] | null {
  const globs = text.split(',').map(glob => glob.trim()).filter(glob => glob !== '')
  return globs.length === 0 ? null : globs
}
