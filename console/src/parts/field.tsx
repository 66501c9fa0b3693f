import type { ComponentChildren, JSX, TargetedEvent } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  label: string
  value: string
  onValue (value: string): void
  /** What it means, in a sentence. */
  hint?: string
  type?: 'text' | 'password' | 'date'
  placeholder?: string
  required?: boolean
  autocomplete?: string
  pattern?: string
  name?: string
  inputmode?: 'numeric' | 'decimal'
  /** Values that are offered, each with what it is called. */
  options?: readonly (readonly [string, string])[]
}

/** One line of text with its label. */
export function Field ({ label, value, onValue, hint, type = 'text', options, ...input }: FieldProps): JSX.Element {
  const id = useId()
  const shared = {
    id,
    value,
    spellcheck: false,
    onInput: (event: TargetedEvent<HTMLInputElement>) => onValue(event.currentTarget.value),
    ...hint !== undefined && { 'aria-describedby': `${id}-hint` },
    ...input
  }
  return (
    <div class='field'>
      <label for={id}>{label}</label>
      {type === 'text' && <input {...shared} type='text' list={options === undefined ? undefined : `${id}-options`} />}
      {type === 'password' && <input {...shared} type='password' />}
      {type === 'date' && <input {...shared} type='date' />}
      {options !== undefined && <datalist id={`${id}-options`}>{options.map(([option, name]) => <option key={option} value={option}>{name}</option>)}</datalist>}
      {hint !== undefined && <small id={`${id}-hint`} class='muted'>{hint}</small>}
    </div>
  )
}

interface ChoiceProps {
  label: string
  value: string
  onValue (value: string): void
  /** Values, or pairs of a value and what it is called. */
  options: readonly (string | readonly [string, string])[]
}

/** A choice of one among some. */
export function Choice ({ label, value, onValue, options }: ChoiceProps): JSX.Element {
  const id = useId()
  return (
    <div class='field'>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={event => onValue(event.currentTarget.value)}>
        {options.map(option => {
          const [name, title] = typeof option === 'string' ? [option, option] : option
          return <option key={name} value={name}>{title}</option>
        })}
      </select>
    </div>
  )
}

/** A name and what it has, as a definition list shows it. */
export function Fact (
  { name, isWide = false, children }: { name: string, isWide?: boolean, children: ComponentChildren }
): JSX.Element {
  return <div class={isWide ? 'wide' : ''}><dt>{name}</dt><dd>{children}</dd></div>
}

interface AreaProps {
  label: string
  value: string
  onValue (value: string): void
  hint?: string
  required?: boolean
  isCode?: boolean
  /** After ⌘ or Ctrl with Enter. */
  onSubmit?: () => void
}

/** Some lines of text with their label. */
export function Area ({ label, value, onValue, hint, required, isCode = false, onSubmit }: AreaProps): JSX.Element {
  const id = useId()
  return (
    <div class='field'>
      <label for={id}>{label}</label>
      <textarea
        id={id} value={value} required={required} class={isCode ? 'mono' : ''} spellcheck={!isCode}
        onInput={event => onValue(event.currentTarget.value)} {...hint !== undefined && { 'aria-describedby': `${id}-hint` }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return
          event.preventDefault()
          onSubmit?.()
        }}
      />
      {hint !== undefined && <small id={`${id}-hint`} class='muted'>{hint}</small>}
    </div>
  )
}
