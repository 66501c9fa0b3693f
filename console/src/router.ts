import { computed, signal } from '@preact/signals'

type Query = Readonly<Record<string, string | undefined>>

const base = '/console'

const address = signal(new URL(location.href))

/** The path below `/console`, decoded by segment: `/requests/req_1` is `['requests', 'req_1']`. */
export const segments = computed(() =>
  address.value.pathname.slice(base.length).split('/').filter(part => part !== '').map(decodeURIComponent))

/** The query of the address. */
export const query = computed<Query>(() => Object.fromEntries(address.value.searchParams))

/** The address of a page, e.g. `link('requests', id)` or `link('requests', { account })`. */
export function link (...parts: (string | Query)[]): string {
  const names = parts.filter(part => typeof part === 'string')
  const path = names.map(name => `/${encodeURIComponent(name)}`).join('')
  const given = parts.flatMap(part => typeof part === 'string' ? [] : Object.entries(part))
    .filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  return `${base}${path === '' ? '/' : path}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`
}

/** Shows a page of the console; `replace` leaves no step to go back to. */
export function go (to: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  address.value = new URL(location.href)
  if (!replace) scrollTo(0, 0)
}

/** Changes parameters of the address; an empty one is removed. */
export function setQuery (changes: Readonly<Record<string, string>>): void {
  const url = new URL(address.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  go(`${url.pathname}${url.search}`, { replace: true })
}

/** Follows links of the console without loading the page again. */
export function startRouter (): void {
  addEventListener('popstate', () => { address.value = new URL(location.href) })
  document.addEventListener('click', event => {
    const anchor = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (anchor === null || !isPlain || event.defaultPrevented || anchor.target !== '' || anchor.hasAttribute('download')) return
    if (anchor.origin !== location.origin || !`${anchor.pathname}/`.startsWith(`${base}/`)) return
    event.preventDefault()
    go(anchor.href)
  })
}
