import type { JSX } from 'preact'
import type { LoggedRequestItem } from '../../../schemas/admin/requests.ts'
import type { Received } from '../api/received.ts'
import { Badge, type Tone } from '../parts/badge.tsx'

export type LoggedRequest = Received<LoggedRequestItem>

/** What an outcome is called and how it looks; a short one is its status alone where there is little room. */
export function Outcome (
  { request: { outcome, status }, isShort = false }: { request: LoggedRequest, isShort?: boolean }
): JSX.Element {
  return <Badge tone={tones[outcome]}>{status} <span class={isShort ? 'extra' : ''}>{outcome.replaceAll('_', ' ')}</span></Badge>
}

const tones: Record<LoggedRequest['outcome'], Tone> = {
  succeeded: 'good', client_gone: 'quiet', refused: 'warn', failed: 'bad', broken_off: 'bad'
}
