import type { JSX } from 'preact'
import { pagesInReach } from '../pages.ts'
import { Dialog } from './dialog.tsx'

/** What the keyboard can do. */
export function KeyList ({ onClose }: { onClose (): void }): JSX.Element {
  return (
    <Dialog title='Shortcuts' onClose={onClose}>
      <dl class='keys'>
        <Row keys={['⌘', 'K']} does='Go to a page, account, key, request or job; Ctrl K where there is no ⌘' />
        <Row keys={['/']} does='Go to the first field' />
        <Row keys={['j', 'k']} does='Next and previous row; Enter opens it' />
        {pagesInReach().map(({ path, title, letter }) => <Row key={path} keys={['g', letter]} does={title} />)}
        <Row keys={['?']} does='This list' />
        <Row keys={['Esc']} does='Close' />
      </dl>
      <form method='dialog'><button>Close</button></form>
    </Dialog>
  )
}

function Row ({ keys, does }: { keys: string[], does: string }): JSX.Element {
  return <div><dt>{keys.map(key => <kbd key={key}>{key}</kbd>)}</dt><dd>{does}</dd></div>
}
