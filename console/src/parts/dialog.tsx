import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  title: string
  children: ComponentChildren
  onClose (): void
}

/** The dialogs that are open, the topmost last. */
const open: HTMLDialogElement[] = []

/** A modal dialog; Escape closes the topmost one, and the focus goes back to where it was. */
export function Dialog ({ title, children, onClose }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const latest = useRef(onClose)
  latest.current = onClose
  // Before the browser paints, so that what is typed at once goes to the dialog.
  useLayoutEffect(() => {
    const element = dialog.current
    if (element === null) return
    const before = document.activeElement
    const close = (): void => latest.current()
    // While one dialog follows another, the browser may give the key to neither or to the one before.
    function onKeyDown (event: KeyboardEvent): void {
      if (event.key !== 'Escape' || open.at(-1) !== element) return
      event.preventDefault()
      event.stopImmediatePropagation()
      close()
    }
    element.addEventListener('close', close)
    addEventListener('keydown', onKeyDown)
    open.push(element)
    element.showModal()
    return () => {
      element.removeEventListener('close', close)
      removeEventListener('keydown', onKeyDown)
      open.splice(open.indexOf(element), 1)
      element.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
