import type { JSX } from 'preact'
import { useId } from 'preact/hooks'

interface PictureProps {
  label: string
  /** A data URL. */
  value: string | null
  onValue (value: string | null): void
}

/** A picture from this computer, as a data URL. */
export function PictureField ({ label, value, onValue }: PictureProps): JSX.Element {
  const id = useId()
  function read (file: File | undefined): void {
    if (file === undefined) return onValue(null)
    const reader = new FileReader()
    reader.onload = () => onValue(String(reader.result))
    reader.readAsDataURL(file)
  }
  return (
    <div class='field'>
      <label for={id}>{label}</label>
      <input id={id} type='file' accept='image/png,image/jpeg,image/webp,image/gif' onChange={event => read(event.currentTarget.files?.[0])} />
      {value !== null && <small class='muted'>{Math.ceil(value.length * 0.75 / 1024).toLocaleString('en-US')} KB, sent with the prompt</small>}
    </div>
  )
}
