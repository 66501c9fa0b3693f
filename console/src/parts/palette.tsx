import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { findThings, type Found } from '../api/find.ts'
import { signOut } from '../api/session.ts'
import { pagesInReach } from '../pages.ts'
import { go, link } from '../router.ts'
import { Dialog } from './dialog.tsx'

/** Goes to a page, or to any account, key, request or job by id or name. */
export function Palette ({ onClose }: { onClose (): void }): JSX.Element {
  const [text, setText] = useState('')
  const [found, setFound] = useState<readonly Found[]>([])
  const [isBusy, setBusy] = useState(false)
  const [chosen, setChosen] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const words = text.trim().toLowerCase()
  const items: readonly Found[] = [
    ...pagesInReach().filter(({ title }) => title.toLowerCase().includes(words))
      .map(({ path, title }) => ({ kind: 'page', title, href: link(path) })),
    ...words.startsWith('sign out') ? [signOutEverywhere] : [],
    ...found
  ]

  useEffect(() => {
    setChosen(0)
    setFound([])
    if (words === '') return setBusy(false)
    const controller = new AbortController()
    setBusy(true)
    const timer = setTimeout(() => {
      findThings(text.trim(), controller.signal).then(things => {
        if (controller.signal.aborted) return
        setFound(things)
        setBusy(false)
      }).catch(() => { if (!controller.signal.aborted) setBusy(false) })
    }, 150)
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [words])
  useEffect(() => { list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }) }, [chosen])

  function open (item: Found | undefined): void {
    if (item === undefined) return
    onClose()
    if (item.run === undefined) go(item.href)
    else item.run()
  }

  function onKeyDown (event: KeyboardEvent): void {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setChosen(Math.min(Math.max(chosen + step, 0), Math.max(items.length - 1, 0)))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      open(items[chosen])
    }
  }

  return (
    <Dialog title='Go to' onClose={onClose}>
      <div class='palette'>
        <input
          type='search' list={undefined} aria-label='Page, id or name' placeholder='Page, id or name' role='combobox' aria-expanded='true'
          aria-controls='found' aria-activedescendant={`found-${chosen}`} value={text} spellcheck={false}
          onInput={event => setText(event.currentTarget.value)} onKeyDown={onKeyDown}
        />
        <ul id='found' role='listbox' aria-label='Found' ref={list}>
          {items.map((item, index) => (
            <li
              key={item.href} id={`found-${index}`} role='option' aria-selected={index === chosen}
              onClick={() => open(item)} onPointerMove={() => setChosen(index)}
            ><span>{item.title}</span> <span class='muted'>{item.kind}</span>
            </li>
          ))}
        </ul>
        <p class='muted' role='status'>{isBusy ? 'Searching…' : items.length === 0 ? 'Nothing has this id or name.' : ''}</p>
      </div>
    </Dialog>
  )
}

const signOutEverywhere: Found = {
  kind: 'ends your sessions in all browsers', title: 'Sign out everywhere', href: '', run: () => { signOut('everywhere') }
}
