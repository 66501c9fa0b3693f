import { signal } from '@preact/signals'
import { pagesInReach } from './pages.ts'
import { go, link } from './router.ts'
import { session } from './session.ts'

/** What lies over the page: the palette, the list of keys, or nothing. */
export const overlay = signal<'palette' | 'keys' | null>(null)

/** Listens to the keyboard: ⌘K, `?`, `/`, `j`, `k` and `g` with a letter. */
export function startKeys (): void {
  let isAfterG = false
  addEventListener('keydown', event => {
    if (session.value === null || event.isComposing) return
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      overlay.value = overlay.value === 'palette' ? null : 'palette'
      return
    }
    const isWriting = event.target instanceof HTMLElement && event.target.closest('input, textarea, select, dialog') !== null
    if (isWriting || event.metaKey || event.ctrlKey || event.altKey) return
    const page = isAfterG ? pagesInReach().find(({ letter }) => letter === event.key) : undefined
    isAfterG = event.key === 'g'
    if (page !== undefined) go(link(page.path))
    else if (event.key === '?') overlay.value = 'keys'
    else if (event.key === '/') focusFirst(event)
    else if (event.key === 'j' || event.key === 'k') moveRow(event.key === 'j' ? 1 : -1)
  })
}

function focusFirst (event: KeyboardEvent): void {
  const field = document.querySelector<HTMLElement>('main input, main textarea')
  if (field === null) return
  event.preventDefault()
  field.focus()
}

function moveRow (step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('main a.row')]
  const now = links.findIndex(one => one === document.activeElement)
  const next = links[now === -1 ? 0 : Math.min(Math.max(now + step, 0), links.length - 1)]
  next?.focus()
}
