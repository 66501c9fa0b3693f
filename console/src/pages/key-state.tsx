import type { JSX } from 'preact'
import type { Key } from '../../../schemas/admin/keys.ts'
import type { Received } from '../api/received.ts'
import { Badge } from '../parts/badge.tsx'
import { Money } from '../parts/money.tsx'

export type KnownKey = Received<Key>

/** Whether a key works. */
export function KeyState ({ keyOf: key }: { keyOf: KnownKey }): JSX.Element {
  const state = stateOf(key)
  return <Badge tone={tones[state]}>{state}</Badge>
}

const tones = { active: 'good', expired: 'warn', revoked: 'quiet' } as const

/** In a word. */
export function stateOf ({ revoked_at: revoked, expires_at: expires }: KnownKey): keyof typeof tones {
  if (revoked !== null) return 'revoked'
  return expires !== null && new Date(expires) < new Date() ? 'expired' : 'active'
}

/** What a budget has left, as a bar with its numbers. */
export function Budget ({ budget }: { budget: KnownKey['budget'] }): JSX.Element {
  if (budget === null) return <span class='muted'>none</span>
  const { amount_nano: amount, spent_nano: spent, period } = budget
  return (
    <span class='budget'>
      <meter min='0' max='1' high={0.9} value={amount === 0n ? 1 : Number(spent) / Number(amount)} aria-label='Part of the budget that is spent' />
      <small><Money nano={spent} /> of <Money nano={amount} />{period !== null && ` a ${period}`}</small>
    </span>
  )
}
