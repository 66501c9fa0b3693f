import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { inWords } from '../api/error.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'

interface FormDialogProps {
  title: string
  /** What the button in the dialog says. */
  does: string
  /** What must be typed first; for what cannot be undone. */
  confirm?: string
  children?: ComponentChildren
  /** Does it; its error is shown and the dialog stays. */
  run (): Promise<unknown>
  onClose (): void
}

/** A dialog that does something. */
export function FormDialog ({ title, does, confirm, children, run, onClose }: FormDialogProps): JSX.Element {
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

interface OpenerProps {
  label: string
  tone?: 'primary' | 'danger' | 'plain' | ''
  /** The dialog, which begins afresh each time. */
  children (close: () => void): ComponentChildren
}

/** A button that opens a dialog. */
export function Opener ({ label, tone = '', children }: OpenerProps): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type='button' class={tone} onClick={() => setOpen(true)}>{label}</button>
      {isOpen && children(() => setOpen(false))}
    </>
  )
}

interface ActionProps extends Omit<FormDialogProps, 'onClose'> {
  /** What the button says, e.g. `Revoke…`. */
  label: string
  isPrimary?: boolean
}

/** A button that opens a dialog which does something. */
export function Action ({ label, isPrimary = false, ...dialog }: ActionProps): JSX.Element {
  const tone = dialog.confirm !== undefined ? 'danger' : isPrimary ? 'primary' : ''
  return <Opener label={label} tone={tone}>{close => <FormDialog {...dialog} onClose={close} />}</Opener>
}
