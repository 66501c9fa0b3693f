import type { JSX } from 'preact'
import type { Account } from '../../../schemas/admin/accounts.ts'
import type { Received } from '../api/received.ts'
import { Badge, type Tone } from '../parts/badge.tsx'

export type KnownAccount = Received<Account>

/** The state of an account. */
export function AccountState ({ state }: { state: KnownAccount['state'] }): JSX.Element {
  const tones: Record<KnownAccount['state'], Tone> = { active: 'good', frozen: 'warn', closed: 'quiet' }
  return <Badge tone={tones[state]}>{state}</Badge>
}
