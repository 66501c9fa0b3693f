import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { monthChoices } from './months.ts'
import { go, link, query, segments, setQuery } from '../router.ts'

const narrow = '(max-width: 48rem)'

interface FiltersProps {
  names: readonly string[]
  /** What else of the address stays when the filters are cleared. */
  kept?: Readonly<Record<string, string | undefined>>
  children: ComponentChildren
}

/** Filters that are kept in the address under these names; folded up where there is little room. */
export function Filters ({ names, kept = {}, children }: FiltersProps): JSX.Element {
  const isFiltered = names.some(name => query.value[name] !== undefined)
  const [isOpen] = useState(isFiltered || !matchMedia(narrow).matches)
  return (
    <details class='folded' open={isOpen}>
      <summary>Filters</summary>
      <form class='filters' onSubmit={event => event.preventDefault()} aria-label='Filters'>
        {children}
        {isFiltered && <button type='button' class='plain' onClick={() => go(link(...segments.value, kept))}>Clear filters</button>}
      </form>
    </details>
  )
}

/** A text filter that is kept in the address; applied on Enter, when the focus leaves, or after a pause. */
export function TextFilter ({ name, label, placeholder = '' }: { name: string, label: string, placeholder?: string }): JSX.Element {
  const applied = query.value[name] ?? ''
  const [text, setText] = useState(applied)
  const id = useId()
  useEffect(() => setText(applied), [applied])
  useEffect(() => {
    if (text.trim() === applied) return
    const timer = setTimeout(() => setQuery({ [name]: text.trim() }), 400)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <div class='field'>
      <label for={id}>{label}</label>
      <input
        id={id} type='search' value={text} placeholder={placeholder} spellcheck={false} onInput={event => setText(event.currentTarget.value)}
        onChange={() => setQuery({ [name]: text.trim() })}
      />
    </div>
  )
}

/** A choice that is kept in the address; the first option means no filter. */
export function ChoiceFilter ({ name, label, all, options }: { name: string, label: string, all: string, options: readonly string[] }): JSX.Element {
  const id = useId()
  return (
    <div class='field'>
      <label for={id}>{label}</label>
      <select id={id} value={query.value[name] ?? ''} onChange={event => setQuery({ [name]: event.currentTarget.value })}>
        <option value=''>{all}</option>
        {options.map(option => <option key={option} value={option}>{option.replaceAll('_', ' ')}</option>)}
      </select>
    </div>
  )
}

/** A month that is kept in the address, as an address with it has set it; the newest are offered. */
export function MonthFilter (): JSX.Element {
  const id = useId()
  const chosen = query.value['month'] ?? ''
  return (
    <div class='field'>
      <label for={id}>Month (UTC)</label>
      <select id={id} value={chosen} onChange={event => setQuery({ month: event.currentTarget.value })}>
        <option value=''>Any</option>
        {monthChoices(chosen).map(([month, name]) => <option key={month} value={month}>{name}</option>)}
      </select>
    </div>
  )
}

/** A time that is kept in the address as ISO 8601 in UTC, and shown in the viewer's zone. */
export function TimeFilter ({ name, label }: { name: string, label: string }): JSX.Element {
  const id = useId()
  return (
    <div class='field time'>
      <label for={id}>{label}</label>
      <input
        id={id} type='datetime-local' value={toLocal(query.value[name])}
        onChange={({ currentTarget: { value } }) => setQuery({ [name]: value === '' ? '' : new Date(value).toISOString() })}
      />
    </div>
  )
}

function toLocal (text = ''): string {
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
