import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { signOut } from './api/session.ts'
import { overlay } from './keys.ts'
import { pagesInReach } from './pages.ts'
import { KeyList } from './parts/key-list.tsx'
import { Palette } from './parts/palette.tsx'
import { Empty } from './parts/states.tsx'
import { Toast } from './parts/toast.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { go, link, segments } from './router.ts'
import { session } from './session.ts'
import { nextTheme, theme } from './theme.ts'

/** The sign-in, or the menu with the page of the address. */
export function App (): JSX.Element {
  if (session.value === null) return <SignIn />
  return (
    <>
      <a class='skip' href='#main'>Skip to the content</a>
      <Menu />
      <main id='main' tabIndex={-1}><CurrentPage /></main>
      <Toast />
      {overlay.value === 'palette' && <Palette onClose={() => { overlay.value = null }} />}
      {overlay.value === 'keys' && <KeyList onClose={() => { overlay.value = null }} />}
    </>
  )
}

function Menu (): JSX.Element {
  const { label = null, role = '' } = session.value ?? {}
  const isMac = navigator.platform.startsWith('Mac')
  const nav = useRef<HTMLElement>(null)
  const [here] = segments.value
  // Before the browser paints, so that nothing moves.
  useLayoutEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>('[aria-current]')
    if (nav.current !== null && current != null) nav.current.scrollLeft = current.offsetLeft - nav.current.offsetLeft - 60
  }, [here])
  return (
    <header>
      <a class='brand' href={link()}>Tollgate</a>
      <button type='button' class='search' onClick={() => { overlay.value = 'palette' }}>
        Go to… <kbd>{isMac ? '⌘' : 'Ctrl '}K</kbd>
      </button>
      <nav aria-label='Pages' ref={nav}>
        {pagesInReach().map(({ path, title }) => (
          <a key={path} href={link(path)} {...here === path && { 'aria-current': 'page' as const }}>{title}</a>
        ))}
      </nav>
      <div class='tools'>
        <p class='who'>{label === null || label === '' ? role : <>{label} <span class='muted'>{role}</span></>}</p>
        <button type='button' class='plain' onClick={nextTheme} title='System, light or dark'>Theme: {theme.value}</button>
        <button type='button' class='plain' onClick={() => { overlay.value = 'keys' }}>Shortcuts <kbd>?</kbd></button>
        <button type='button' class='plain' onClick={() => { signOut() }}>Sign out</button>
      </div>
    </header>
  )
}

function CurrentPage (): JSX.Element | null {
  const inReach = pagesInReach()
  const [path, id] = segments.value
  const page = inReach.find(one => one.path === path)
  const first = inReach[0]
  useEffect(() => {
    if (path === undefined && first !== undefined) go(link(first.path), { replace: true })
  }, [path])
  useEffect(() => { document.title = page === undefined ? 'Tollgate' : `${id ?? page.title} – Tollgate` }, [page, id])
  if (page !== undefined) return <page.component key={page.path} />
  if (path === undefined && first !== undefined) return null
  return (
    <Empty title='There is nothing here for your key'>
      <p>The address <code>/{segments.value.join('/')}</code> is no page of this console, or your role may not see it.</p>
      {first !== undefined && <p><a href={link(first.path)}>{first.title}</a></p>}
    </Empty>
  )
}
