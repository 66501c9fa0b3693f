import { GatewayError } from '../shared/errors.ts'
import { assertSafe } from '../shared/money.ts'
import type { Queries, Store } from '../store/store.ts'
import { whereEntryId } from './entry-id.ts'
import { idempotencyConflict, unknownAccount } from './errors.ts'
import { createStatements, type Statements } from './sql/statements.ts'

interface Refund {
  id: string
  /** Id of the usage entry, see `entry-id.ts`. */
  entry: string
  /** Default: all that is left of the entry. */
  amountNano?: number
  at?: number
}

interface Adjustment {
  /** Chosen by the caller; repeating it is a no-op. */
  id: string
  account: string
  /** Integer nano-USD, not zero; a negative amount takes credit away. */
  amountNano: number
  reason: string
  at?: number
}

interface UsageEntry {
  seq: number
  account: string
  amountNano: number
  chain: string
  ref: string
  model: string
}

interface Booked { kind: string, debit: string, credit: string, amount: number, reverses: number | null }

const maxReasonLength = 500

export type Corrections = ReturnType<typeof createCorrections>

/**
 * Creates the corrections by operators. Methods return false if this id was booked before, and throw
 * StoreUnavailable, RangeError for unsafe integers, GatewayError 409 when the id belongs to another posting.
 */
export function createCorrections (store: Store, clock: () => number = Date.now) {
  const statements = createStatements(store.engine)
  return {
    /**
     * Gives back what a request was charged, on every account of its chain. Throws GatewayError 404 for an
     * unknown entry, 400 when less than the amount is left of it.
     */
    async refund ({ id, entry, amountNano, at = clock() }: Refund): Promise<boolean> {
      if (amountNano !== undefined && assertSafe(amountNano) <= 0) {
        throw new RangeError(`A refund must be positive, not ${amountNano}`)
      }
      return await store.transaction(async (queries) =>
        await refund(statements, queries, { id, entry, amountNano, at }))
    },

    /** Throws GatewayError 404 for an unknown account, 400 when more would be taken than is available. */
    async adjust ({ id, account, amountNano, reason, at = clock() }: Adjustment): Promise<boolean> {
      if (assertSafe(amountNano) === 0) throw new RangeError('An adjustment must not be zero')
      if (reason.length === 0 || reason.length > maxReasonLength) {
        throw GatewayError.invalidRequest(`'reason' must have 1 to ${maxReasonLength} characters.`, { param: 'reason' })
      }
      return await store.transaction(async (queries) =>
        await adjust(queries, { id, account, amountNano, reason, at }))
    }
  }
}

async function refund (
  statements: Statements, queries: Queries,
  { id, entry, amountNano, at }: Required<Omit<Refund, 'amountNano'>> & Pick<Refund, 'amountNano'>
): Promise<boolean> {
  const { condition, params } = whereEntryId(entry)
  const usage = await queries.get<UsageEntry>(`
    select seq, debit as account, amount as "amountNano", chain, ref, model from entry
    where ${condition} and kind = 'usage' and chain is not null`, params)
  if (usage === undefined) {
    throw new GatewayError(404, 'invalid_request_error', `The usage entry \`${entry}\` does not exist.`,
      { param: 'entry', code: 'entry_not_found' })
  }
  // Serialises refunds of the same entry.
  const accounts = usage.chain.split(' ')
  await statements.lockAccounts(queries, accounts, '')

  const earlier = await bookedAs(queries, id)
  if (earlier !== undefined) {
    const isSame = earlier.kind === 'refund' && earlier.reverses === usage.seq &&
      (amountNano === undefined || amountNano === earlier.amount)
    if (isSame) return false
    throw idempotencyConflict(id, 'posting')
  }
  const refundNano = amountNano ?? await leftOf(queries, usage)
  const booked = await queries.run(`
    insert into entry (idempotency_key, at, debit, credit, amount, kind, ref, model, api_key, chain, reverses)
    select $1, $2, 'revenue', debit, cast($3 as bigint), 'refund', ref, model, api_key, chain, seq from entry as usage
    where seq = $4 and cast($3 as bigint) > 0 and amount - (
      select coalesce(sum(amount), 0) from entry where reverses = $4) >= cast($3 as bigint)`,
  [id, at, refundNano, usage.seq])
  if (booked === 0) {
    throw GatewayError.invalidRequest(`Less than that is left of the entry \`${entry}\`.`, { param: 'amount' })
  }
  const changes = accounts.map((account) => ({ id: account, spent: -refundNano, held: 0 }))
  await statements.changeAccounts(queries, changes)
  return true
}

async function leftOf (queries: Queries, { seq, amountNano }: UsageEntry): Promise<number> {
  const refunded = await queries.get<{ nano: number }>(
    'select cast(coalesce(sum(amount), 0) as bigint) as nano from entry where reverses = $1', [seq])
  return amountNano - (refunded?.nano ?? 0)
}

async function adjust (
  queries: Queries, { id, account, amountNano, reason, at }: Required<Adjustment>
): Promise<boolean> {
  const [debit, credit] = amountNano > 0 ? ['funding', account] : [account, 'funding']
  const booked = await queries.run(`
    insert into entry (idempotency_key, at, debit, credit, amount, kind, reason)
    select $1, $2, $3, $4, $5, 'adjust', $6 from account where id = $7 and kind = 'account'
    on conflict do nothing`, [id, at, debit, credit, Math.abs(amountNano), reason, account])
  if (booked === 0) {
    const earlier = await bookedAs(queries, id)
    if (earlier === undefined) throw unknownAccount(account)
    const isSame = earlier.kind === 'adjust' && earlier.debit === debit && earlier.credit === credit
    if (isSame && earlier.amount === Math.abs(amountNano)) return false
    throw idempotencyConflict(id, 'posting')
  }
  const changed = await queries.run(`
    update account set credits = credits + cast($2 as bigint) where id = $1 and credits <= $3
    and (cast($2 as bigint) > 0 or credits - spent - held + cast($2 as bigint) >= 0)`,
  [account, amountNano, Number.MAX_SAFE_INTEGER - Math.max(0, amountNano)])
  if (changed === 1) return true
  if (amountNano > 0) throw new RangeError(`The credits of ${account} would exceed the safe integers`)
  throw GatewayError.invalidRequest(
    `Less than that is available on the account \`${account}\`; money held for requests cannot be taken.`,
    { param: 'amount' })
}

async function bookedAs (queries: Queries, id: string): Promise<Booked | undefined> {
  return await queries.get<Booked>(
    'select kind, debit, credit, amount, reverses from entry where idempotency_key = $1', [id])
}
