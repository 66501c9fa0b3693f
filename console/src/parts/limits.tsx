import type { JSX } from 'preact'
import type { GivenLimits, LimitSet } from '../../../schemas/admin/shared.ts'
import { Field } from './field.tsx'
import { readLimit, type Texts, type useForm } from './form.ts'

const limits = [
  ['requests_per_minute', 'Requests a minute'],
  ['tokens_per_minute', 'Tokens a minute'],
  ['concurrent_requests', 'At the same time']
] as const

export type LimitName = typeof limits[number][0]

type LimitForm = Pick<ReturnType<typeof useForm<LimitName>>, 'field'>

/** The texts of limits in a form. */
export function limitTexts (set: LimitSet): Texts<LimitName> {
  const text = (name: LimitName): string => set[name]?.toString() ?? ''
  return {
    requests_per_minute: text('requests_per_minute'),
    tokens_per_minute: text('tokens_per_minute'),
    concurrent_requests: text('concurrent_requests')
  }
}

/** The body field for the limits that were changed, empty without any. Throws an Error for what is no limit. */
export function changedLimits (
  texts: Texts<LimitName>, isChanged: (name: LimitName) => boolean
): { limits?: GivenLimits } {
  const changed = limits.filter(([name]) => isChanged(name))
  if (changed.length === 0) return {}
  return { limits: Object.fromEntries(changed.map(([name, label]) => [name, readLimit(label, texts[name])])) }
}

/** A field for each limit. */
export function LimitFields ({ form }: { form: LimitForm }): JSX.Element {
  return (
    <fieldset>
      <legend>Limits, none where a field is empty</legend>
      <div class='filters'>{limits.map(([name, label]) => <Field key={name} label={label} {...form.field(name)} inputmode='numeric' />)}</div>
    </fieldset>
  )
}

/** Limits in words. */
export function LimitWords ({ limits: set }: { limits: LimitSet }): JSX.Element {
  const words = limits.flatMap(([name, label]) => {
    const limit = set[name]
    return limit === null ? [] : [`${limit.toLocaleString('en-US')} ${label.toLowerCase()}`]
  })
  return <>{words.length === 0 ? 'none' : words.join(', ')}</>
}
