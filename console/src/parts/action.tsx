import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { inWords } from '../api/error.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'

interface ActionProps {
  /** What the button says, e.g. `Revoke…`. */
  label: string
  title: string
  /** What the button in the dialog says. */
  does: string
  /** What must be typed first; for what cannot be undone. */
  confirm?: string
  isPrimary?: boolean
  children?: ComponentChildren
  /** Does it; its error is shown and the dialog stays. */
  run (): Promise<unknown>
}

/** A button that opens a dialog which does something. */
export function Action (props: ActionProps): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const { label, confirm, isPrimary = false } = props
  const tone = confirm !== undefined ? 'danger' : isPrimary ? 'primary' : ''
  return (
    <>
      <button type='button' class={tone} onClick={() => setOpen(true)}>{label}</button>
      {isOpen && <ActionDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}

function ActionDialog ({ title, does, confirm, children, run, onClose }: ActionProps & { onClose (): void }): JSX.Element {
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  async function submit (event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    try {
      await run()
      onClose()
    } catch (error) {
      setProblem(inWords(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {confirm !== undefined && <Field label={`Type ${confirm} to confirm`} value={typed} onValue={setTyped} required autocomplete='off' />}
        {problem !== '' && <p class='notice bad' role='alert'>{problem}</p>}
        <div class='actions'>
          <button class={confirm === undefined ? 'primary' : 'danger'} disabled={isBusy || (confirm !== undefined && typed !== confirm)}>{does}</button>
          <button type='button' onClick={onClose}>Cancel</button>
        </div>
      </form>
    </Dialog>
  )
}
