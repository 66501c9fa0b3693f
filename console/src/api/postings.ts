import type { Static } from '@sinclair/typebox'
import type { Entry } from '../../../schemas/admin/entries.ts'
import { exactUsd, shortUsd } from '../parts/money.tsx'
import { announce } from '../parts/toast.tsx'
import { send } from './fetch.ts'
import { parseExact, type Received } from './received.ts'

export type BookedEntry = Received<Static<typeof Entry>>

export type Verb = 'deposits' | 'withdrawals' | 'transfers' | 'adjustments' | 'refunds'

interface Posting {
  verb: Verb
  account: string
  body: { id: string } & Readonly<Record<string, unknown>>
}

/** Books a posting, says so and offers to reverse it where the books allow it. Throws ApiError. */
export async function book ({ verb, account, body }: Posting, onChange: () => void): Promise<void> {
  const response = await send(`/admin/accounts/${encodeURIComponent(account)}/${verb}`, { method: 'POST', body })
  const entry = parseExact(await response.text()) as BookedEntry
  onChange()
  if (response.status !== 201) return announce(`${inWords(entry)} before. Nothing more was booked.`)
  const reversal = reversalOf(entry)
  announce(`${inWords(entry)}.`, reversal === null ? undefined : async () => await book(reversal, onChange))
}

const postingId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/**
 * The id of the posting that reverses an entry, the same each time, so that it is booked once. Null for an
 * entry of the ledger itself, as when an account moves, and for an id that leaves no room.
 */
export function reversalId (entry: string): string | null {
  const id = `reversal-${entry}`
  return postingId.test(id) ? id : null
}

/** The posting that moves the amount of an entry back; null for what has no opposite. */
export function reversalOf ({ id, kind, debit, credit, amount_nano: nano }: BookedEntry): Posting | null {
  const reversal = reversalId(id)
  if (reversal === null) return null
  const shared = { id: reversal, amount_usd: exactUsd(nano) }
  const reason = `Reverses ${id}`
  if (kind === 'deposit') return { verb: 'withdrawals', account: credit, body: { ...shared, reason } }
  if (kind === 'withdraw') return { verb: 'deposits', account: debit, body: shared }
  if (kind === 'transfer') return { verb: 'transfers', account: credit, body: { ...shared, to: debit, reason } }
  if (kind !== 'adjust') return null
  if (credit === 'funding') return { verb: 'adjustments', account: debit, body: { ...shared, reason } }
  return { verb: 'adjustments', account: credit, body: { ...shared, amount_usd: exactUsd(-nano), reason } }
}

/** What an entry did. */
export function inWords ({ kind, debit, credit, amount_nano: nano }: BookedEntry): string {
  const amount = shortUsd(nano)
  if (kind === 'deposit') return `Deposited ${amount} to ${credit}`
  if (kind === 'withdraw') return `Withdrew ${amount} from ${debit}`
  if (kind === 'transfer') return `Transferred ${amount} from ${debit} to ${credit}`
  if (kind === 'refund') return `Refunded ${amount} to ${credit}`
  return credit === 'funding' ? `Took ${amount} from the credits of ${debit}` : `Added ${amount} to the credits of ${credit}`
}
