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

/** What went wrong and what to do. */
export function Failure ({ error, retry }: { error: unknown, retry?: () => void }): JSX.Element {
  const { status = null, requestId = null } = error instanceof ApiError ? error : {}
  return (
    <div class='notice bad' role='alert'>
      <p><strong>{titleOf(status)}</strong> {inWords(error)}</p>
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
