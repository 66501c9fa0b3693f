import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  title: string
  children: ComponentChildren
  onClose (): void
}

/** A modal dialog; Escape closes it and the focus goes back to where it was. */
export function Dialog ({ title, children, onClose }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const latest = useRef(onClose)
  latest.current = onClose
  useEffect(() => {
    const before = document.activeElement
    const element = dialog.current
    const close = (): void => latest.current()
    element?.addEventListener('close', close)
    element?.showModal()
    return () => {
      element?.removeEventListener('close', close)
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  // Chromium gives the key to a dialog of before if this one opened without a new click.
  function onKeyDown (event: KeyboardEvent): void {
    if (event.key !== 'Escape') return
    event.preventDefault()
    onClose()
  }
  return (
    <dialog ref={dialog} aria-labelledby={id} onKeyDown={onKeyDown}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
