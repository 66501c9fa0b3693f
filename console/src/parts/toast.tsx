import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { inWords } from '../api/error.ts'

interface Done {
  /** What was done, as a sentence. */
  text: string
  /** Takes it back; absent where that is impossible. */
  undo?: (() => Promise<unknown>) | undefined
}

const shownMs = 60_000
const done = signal<Done | null>(null)

/** Says what was done, in place of what was said before, and offers to take it back. */
export function announce (text: string, undo?: Done['undo']): void {
  done.value = { text, undo }
}

/** The last announcement, at the bottom of the window. */
export function Toast (): JSX.Element {
  const { text = '', undo } = done.value ?? {}
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  // It ends with the session, because the next one may be of somebody else.
  useEffect(() => dismiss, [])
  useEffect(() => {
    setProblem('')
    setBusy(false)
    if (done.value === null) return
    const timer = setTimeout(dismiss, shownMs)
    return () => clearTimeout(timer)
  }, [done.value])
  async function takeBack (): Promise<void> {
    setBusy(true)
    try {
      await undo?.()
      announce('Undone.')
    } catch (error) {
      setProblem(inWords(error))
      setBusy(false)
    }
  }
  return (
    <div class='toast' role='status'>
      {text !== '' && (
        <p>
          <span>{problem === '' ? text : problem}</span>
          {undo !== undefined && problem === '' && <button type='button' disabled={isBusy} onClick={() => { takeBack() }}>Undo</button>}
          <button type='button' class='plain' onClick={dismiss}>Dismiss</button>
        </p>
      )}
    </div>
  )
}

function dismiss (): void {
  done.value = null
}
