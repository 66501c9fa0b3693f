import { recordChange, type Actor } from '../../store/audit.ts'
import { assertSafe } from '../../shared/money.ts'
import type { Queries } from '../../store/store.ts'
import { idsOf, type AccountLine } from './account-line.ts'
import { creditsExceeded, idempotencyConflict, LacksCredit } from './errors.ts'

/** An entry that changes credits, booked by an operator. */
export interface CreditPosting {
  /** Chosen by the caller; repeating it is a no-op. */
  id: string
  kind: 'deposit' | 'withdraw' | 'adjust' | 'transfer'
  debit: string
  credit: string
  /** Positive integer nano-USD. */
  amountNano: number
  reason: string | null
  at: number
  actor: Actor
}

/** By how much an entry changes the credits of each account, in integer nano-USD. */
export type Movements = ReadonlyMap<string, number>

/**
 * Money that goes from one line of accounts to another changes the credits of those that are in only one of
 * them, since an account's money includes that of the accounts below. Null is the world outside.
 */
export function movementsBetween (
  from: AccountLine | null, to: AccountLine | null, amountNano: number
): Movements {
  const [losing, gaining] = [new Set(from === null ? [] : idsOf(from)), new Set(to === null ? [] : idsOf(to))]
  return new Map([
    ...[...losing.difference(gaining)].map(id => [id, -amountNano] as const),
    ...[...gaining.difference(losing)].map(id => [id, amountNano] as const)
  ])
}

/**
 * Books an entry and changes the credits of accounts, which the caller has locked. Throws RangeError beyond
 * the safe integers, LacksCredit when an account would have less than it holds.
 */
export async function bookCredits (
  queries: Queries, posting: CreditPosting, movements: Movements
): Promise<void> {
  const { id, kind, debit, credit, amountNano, reason, at, actor } = posting
  const entry = await queries.get<{ seq: number }>(`
    insert into entry (idempotency_key, at, debit, credit, amount, kind, reason, actor)
    values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning seq`,
  [id, at, debit, credit, assertSafe(amountNano), kind, reason, actor.id])
  if (entry === undefined) throw idempotencyConflict(id, 'posting')
  await moveCredits(queries, entry.seq, movements)
  const moved = { entry: id, amount_nano: amountNano, from: debit, to: credit }
  const after = { ...moved, ...(reason !== null && { reason }) }
  const target = `account:${debit === 'funding' ? credit : debit}`
  await recordChange(queries, { actor, action: `credit.${kind}`, target, after, at })
}

/** Changes the credits of accounts for an entry; throws as `bookCredits` does. */
export async function moveCredits (
  queries: Queries, entrySeq: number, movements: Movements
): Promise<void> {
  for (const [account, nano] of movements) {
    const movement = [entrySeq, account, nano]
    await queries.run('insert into movement (entry, account, amount) values ($1, $2, $3)', movement)
    const changed = await queries.run(`
      update account set credits = credits + cast($2 as bigint) where id = $1 and credits <= $3
      and (cast($2 as bigint) > 0 or credits - spent - held + cast($2 as bigint) >= 0)`,
    [account, nano, Number.MAX_SAFE_INTEGER - Math.max(0, nano)])
    if (changed === 1) continue
    if (nano < 0) throw new LacksCredit(account)
    throw creditsExceeded(account)
  }
}

type Terms = Pick<CreditPosting, 'kind' | 'debit' | 'credit'>

/**
 * Whether the same posting was booked before; without `amountNano`, whatever its amount. Throws GatewayError
 * 409 if the id belongs to another one.
 */
export async function isBooked (
  queries: Queries, id: string, { kind, debit, credit }: Terms, amountNano?: number
): Promise<boolean> {
  const earlier = await queries.get<Terms & { amount: number }>(
    'select kind, debit, credit, amount from entry where idempotency_key = $1', [id])
  if (earlier === undefined) return false
  const isSame = earlier.kind === kind && earlier.debit === debit && earlier.credit === credit
  if (isSame && (amountNano === undefined || earlier.amount === amountNano)) return true
  throw idempotencyConflict(id, 'posting')
}
