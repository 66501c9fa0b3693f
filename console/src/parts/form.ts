import { useState } from 'preact/hooks'
import { typedUsd } from '../api/money.ts'

/** The texts of a form by the names of its fields. */
export type Texts<Name extends string> = Readonly<Record<Name, string>>

interface Form<Name extends string> {
  values: Texts<Name>
  /** The texts that it began with. */
  first: Texts<Name>
  /** Whether any of the fields differs from what it began with. */
  isChanged (...names: Name[]): boolean
  /** The properties of the field. */
  field (name: Name): { value: string, onValue (value: string): void }
}

/** The texts of a form, which remembers those it began with. */
export function useForm<Name extends string> (initial: Texts<Name>): Form<Name> {
  const [first] = useState(initial)
  const [values, setValues] = useState(initial)
  return {
    values,
    first,
    isChanged: (...names) => names.some(name => values[name].trim() !== first[name].trim()),
    field: name => ({
      value: values[name],
      onValue: value => setValues(before => ({ ...before, [name]: value }))
    })
  }
}

/** The whole number that was typed, null for none. Throws an Error for anything else. */
export function readLimit (label: string, text: string): number | null {
  const typed = text.trim()
  if (typed === '') return null
  if (/^[1-9](\d{0,9}|\d{0,2}(,\d{3}){1,3})$/.test(typed)) return Number(typed.replaceAll(',', ''))
  throw new Error(`${label}: a whole number from 1, or nothing for no limit.`)
}

/** The period that an option of a budget stands for; null: in all. */
export function readPeriod (text: string): 'day' | 'week' | 'month' | null {
  return text === 'day' || text === 'week' || text === 'month' ? text : null
}

/** The budget that was typed, as a button says it: `budget $5.00 a month`; empty while it is none. */
export function typedBudget ({ budget, period }: Texts<'budget' | 'period'>): string {
  const amount = typedUsd(budget)
  return amount && `budget ${amount} ${period === '' ? 'in all' : `a ${period}`}`
}
