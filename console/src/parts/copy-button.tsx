import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Copies a text. */
export function CopyButton ({ text, label = 'Copy' }: { text: string, label?: string }): JSX.Element {
  const [note, setNote] = useState(label)
  useEffect(() => setNote(label), [text])
  async function copy (): Promise<void> {
    try {
      await navigator.clipboard.writeText(text)
      setNote('Copied')
    } catch {
      // Not allowed, or a page over plain HTTP, where browsers have no clipboard.
      setNote('Select the text and copy it')
    }
  }
  return <button type='button' onClick={() => { copy() }}><span aria-live='polite'>{note}</span></button>
}
