import type { ComponentChildren, JSX } from 'preact'
import type { KeyChange } from '../../../schemas/admin/keys.ts'
import { limitAmountOf } from '../api/money.ts'
import { Choice, Fact, Field } from '../parts/field.tsx'
import { readPeriod, type Texts, type useForm } from '../parts/form.ts'
import { changedLimits, LimitFields, limitTexts, LimitWords, type LimitName } from '../parts/limits.tsx'
import { exactUsd } from '../parts/money.tsx'
import type { Column } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { link } from '../router.ts'
import { Budget, type KnownKey } from './key-state.tsx'

// The settings of a key: their inputs, the change that they make, their facts and their columns of CSV.

/** Settings that are a line of text; `empty` is the value of an empty one. */
const plainFields = [
  { name: 'label', label: 'Label', hint: 'What it is for, e.g. the app that uses it.', empty: '' }
] as const

type PlainName = typeof plainFields[number]['name']
export type KeyFieldName = LimitName | PlainName | 'budget' | 'period' | 'models' | 'regions' | 'expires'
export type KeyForm = ReturnType<typeof useForm<KeyFieldName>>

const noKey = { label: '', budget: null, models: null, regions: null, expires_at: null } satisfies Partial<KnownKey>
const noLimits = { requests_per_minute: null, tokens_per_minute: null, concurrent_requests: null }

/** The texts of the settings of a key, or of a new one. */
export function keyTexts (key: KnownKey | null): Texts<KeyFieldName> {
  const { budget, models, regions, expires_at: expires } = key ?? noKey
  return {
    ...limitTexts(key?.limits ?? noLimits),
    ...plainTexts(key),
    budget: budget === null ? '' : exactUsd(budget.amount_nano),
    period: budget === null ? 'month' : budget.period ?? '',
    models: models?.join(', ') ?? '',
    regions: regions?.join(', ') ?? '',
    expires: expires?.slice(0, 10) ?? ''
  }
}

function plainTexts (key: KnownKey | null): Texts<PlainName>
function plainTexts (key: KnownKey | null): Record<string, string> {
  return Object.fromEntries(plainFields.map(({ name }) => [name, key?.[name] ?? '']))
}

/** The settings that were touched, with their texts of now or of before. */
export function changeOf (texts: Texts<KeyFieldName>, isChanged: KeyForm['isChanged']): KeyChange {
  const { budget, period, models, regions, expires } = texts
  const plain = plainFields.filter(({ name }) => isChanged(name)).map(({ name, empty }) => [name, texts[name].trim() || empty])
  return {
    ...Object.fromEntries(plain),
    ...isChanged('budget', 'period') && { budget: budget.trim() === '' ? null : { amount_usd: limitAmountOf('Budget', budget), period: readPeriod(period) } },
    ...isChanged('models') && { models: globsOf(models) },
    ...isChanged('regions') && { regions: globsOf(regions) },
    ...changedLimits(texts, isChanged),
    ...isChanged('expires') && { expires_at: expires === '' ? null : expires }
  }
}

function globsOf (text: string): string[] | null {
  const globs = text.split(',').map(glob => glob.trim()).filter(glob => glob !== '')
  return globs.length === 0 ? null : globs
}

interface InputsProps {
  form: KeyForm
  /** A key that pays for requests; others have no budget. */
  isUser: boolean
  hasLimits: boolean
  /** Further inputs, after the lines of text. */
  children?: ComponentChildren
}

/** The inputs of the settings. */
export function KeyInputs ({ form, isUser, hasLimits, children }: InputsProps): JSX.Element {
  return (
    <>
      {plainFields.map(({ name, label, hint }) => <Field key={name} label={label} {...form.field(name)} hint={hint} />)}
      {children}
      {isUser && (
        <>
          <div class='pair'>
            <Field label='Budget in US dollars' {...form.field('budget')} placeholder='No limit' inputmode='decimal' />
            <Choice label='Per' {...form.field('period')} options={['day', 'week', 'month', ['', 'in all']]} />
          </div>
          <Field label='Models' {...form.field('models')} hint='Names or patterns such as openai/*, separated by commas. Empty: all.' />
          <Field label='Regions' {...form.field('regions')} hint='Of providers that may process its requests, such as eu or europe-*. Empty: all.' />
          {hasLimits && <LimitFields form={form} />}
        </>
      )}
      <Field label='Expires' type='date' {...form.field('expires')} hint='At the beginning of the day in UTC. Empty: never.' />
    </>
  )
}

/** The settings of a key as facts, except its label, which is the heading. */
export function SettingFacts ({ keyOf: key }: { keyOf: KnownKey }): JSX.Element {
  return (
    <>
      <Fact name='Budget'>{key.budget === null ? 'none' : <a href={link('usage', { key: key.id, by: 'model' })}><Budget budget={key.budget} /></a>}</Fact>
      <Fact name='Models'>{key.models?.join(', ') ?? 'all'}</Fact>
      <Fact name='Regions'>{key.regions?.join(', ') ?? 'all'}</Fact>
      <Fact name='Limits'><LimitWords limits={key.limits} /></Fact>
      <Fact name='Expires'>{key.expires_at === null ? 'never' : <Time at={key.expires_at} />}</Fact>
      {plainFields.filter(({ name }) => name !== 'label').map(({ name, label }) => <Fact key={name} name={label}>{key[name]}</Fact>)}
    </>
  )
}

/** The columns of CSV for lines of text. */
export const plainColumns: readonly Column<KnownKey>[] = plainFields.map(({ name, label }) => ({
  name: label, csv: key => key[name]
}))
