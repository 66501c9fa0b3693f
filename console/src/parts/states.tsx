import type { ComponentChildren, JSX } from 'preact'
import { ApiError, inWords } from '../api/error.ts'

/** What stands in place of an answer that has not arrived; appears after a moment, so that quick answers do not flicker. */
export function Loading (): JSX.Element {
  return <p class='loading' role='status'>Loading…</p>
}

/** An empty list, and what to do about it. */
export function Empty ({ title, children }: { title: string, children?: ComponentChildren }): JSX.Element {
  return <div class='empty'><h2>{title}</h2>{children}</div>
}

interface FailureProps {
  error: unknown
  retry?: () => void
  /** What happens without anybody doing something. */
  children?: ComponentChildren
}

/** What went wrong and what to do. */
export function Failure ({ error, retry, children }: FailureProps): JSX.Element {
  const { status = null, requestId = null } = error instanceof ApiError ? error : {}
  const advice = adviceOf(status)
  return (
    <div class='notice bad' role='alert'>
      <p><strong>{titleOf(status)}</strong> {inWords(error)}</p>
      {advice !== '' && <p>{advice}</p>}
      {children}
      {requestId !== null && <p class='muted'>Request <code>{requestId}</code></p>}
      {retry !== undefined && status !== 403 && status !== 404 && <button type='button' onClick={retry}>Try again</button>}
    </div>
  )
}

function titleOf (status: number | null): string {
  if (status === 403) return 'Your key may not do this.'
  if (status === 404) return 'Not found.'
  if (status === 429) return 'Too many requests.'
  return status === 0 ? 'No connection.' : 'That did not work.'
}

function adviceOf (status: number | null): string {
  if (status === 403) return 'Ask an owner for a key with another role, then sign out and in again.'
  if (status === 404) return 'Check the address, or search for it with ⌘K or Ctrl K.'
  if (status === 429) return 'Wait a moment, then try again.'
  if (status === 503) return 'The gateway is busy or cannot reach its database. Try again in a moment; /readyz says why.'
  return status !== null && status >= 500 ? 'Try again. If it happens again, look for the request in the gateway’s log.' : ''
}
