import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Copies a text. */
export function CopyButton ({ text, label = 'Copy' }: { text: string, label?: string }): JSX.Element {
  const [note, setNote] = useState(label)
  useEffect(() => setNote(label), [text])
  async function copy (): Promise<void> {
    await navigator.clipboard.writeText(text).then(() => setNote('Copied'), () => setNote('Select the text and copy it'))
  }
  return <button type='button' onClick={() => { copy() }}><span role='status'>{note}</span></button>
}
