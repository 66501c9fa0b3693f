import { gatewayActor, recordChange, type Actor } from '../../store/audit.ts'
import { GatewayError } from '../../shared/errors.ts'
import { assertSafe } from '../../shared/money.ts'
import type { Queries, Store } from '../../store/store.ts'
import { whereEntryId } from './entry-id.ts'
import { idsOf, lockLines, ownFreeNano, refuseClosed, type AccountLine } from './account-line.ts'
import { bookCredits, isBooked, moveCredits, movementsBetween, type Movements } from './book-credits.ts'
import { idempotencyConflict, LacksCredit } from './errors.ts'
import { createRecall } from './recall.ts'
import { createStatements, type Statements } from './sql/statements.ts'

interface Refund {
  id: string
  /** Id of the usage entry, see `entry-id.ts`. */
  entry: string
  /** Default: all that is left of the entry. */
  amountNano?: number
  at?: number
  actor?: Actor
}

interface Adjustment {
  /** Chosen by the caller; repeating it is a no-op. */
  id: string
  account: string
  /** Integer nano-USD, not zero; a negative amount takes credit away. */
  amountNano: number
  reason: string
  at?: number
  actor?: Actor
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
export function createCorrections (store: Store, clock = store.clock) {
  const statements = createStatements(store.engine)
  const recall = createRecall(store)
  return {
    /**
     * Gives back what a request was charged, on every account of its chain. Throws GatewayError 404 for an
     * unknown entry, 400 when less than the amount is left of it.
     */
    async refund ({ id, entry, amountNano, at = clock(), actor = gatewayActor }: Refund): Promise<boolean> {
      if (amountNano !== undefined && assertSafe(amountNano) <= 0) {
        throw new RangeError(`A refund must be positive, not ${amountNano}`)
      }
      return await store.transaction(async (queries) =>
        await refund(statements, queries, { id, entry, amountNano, at, actor }))
    },

    /** Throws GatewayError 404 for an unknown account, 400 when more would be taken than is available. */
    async adjust (given: Adjustment): Promise<boolean> {
      const { id, account, amountNano, reason, at = clock(), actor = gatewayActor } = given
      if (assertSafe(amountNano) === 0) throw new RangeError('An adjustment must not be zero')
      if (reason.length === 0 || reason.length > maxReasonLength) {
        throw GatewayError.invalidRequest(`'reason' must have 1 to ${maxReasonLength} characters.`, { param: 'reason' })
      }
      const adjustment = { id, account, amountNano, reason, at, actor }
      return await recall.taking(queries => adjust(statements, queries, adjustment))
    }
  }
}

async function refund (
  statements: Statements, queries: Queries,
  { id, entry, amountNano, at, actor }: Required<Omit<Refund, 'amountNano'>> & Pick<Refund, 'amountNano'>
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
  const [line] = await lockLines(statements, queries, [usage.account], accounts)

  const earlier = await bookedAs(queries, id)
  if (earlier !== undefined) {
    const isSame = earlier.kind === 'refund' && earlier.reverses === usage.seq &&
      (amountNano === undefined || amountNano === earlier.amount)
    if (isSame) return false
    throw idempotencyConflict(id, 'posting')
  }
  refuseClosed(line)
  const refundNano = amountNano ?? await leftOf(queries, usage)
  const booked = await queries.get<{ seq: number }>(`
    insert into entry (idempotency_key, at, debit, credit, amount, kind, ref, model, api_key, chain, reverses, actor)
    select $1, $2, 'revenue', debit, cast($3 as bigint), 'refund', ref, model, api_key, chain, seq, $5
    from entry as usage
    where seq = $4 and cast($3 as bigint) > 0 and amount - (
      select coalesce(sum(amount), 0) from entry where reverses = $4) >= cast($3 as bigint)
    returning seq`,
  [id, at, refundNano, usage.seq, actor.id])
  if (booked === undefined) {
    throw GatewayError.invalidRequest(`Less than that is left of the entry \`${entry}\`.`, { param: 'amount' })
  }
  const changes = accounts.map((account) => ({ id: account, spent: -refundNano, held: 0 }))
  await statements.changeAccounts(queries, changes)
  await moveCredits(queries, booked.seq, await movementsOfRefund(queries, line, accounts, refundNano))
  const after = { entry: id, reverses: entry, amount_nano: refundNano }
  await recordChange(queries, { actor, action: 'credit.refund', target: `account:${usage.account}`, after, at })
  return true
}

/** Empty, unless the account has moved: then its present parents get what those of that time were charged. */
async function movementsOfRefund (
  queries: Queries, line: AccountLine, charged: readonly string[], refundNano: number
): Promise<Movements> {
  const now = new Set(idsOf(line))
  const then = new Set(charged)
  const movements = new Map([...now.difference(then)].map(id => [id, refundNano]))
  for (const id of then.difference(now)) {
    const isAccount = await queries.get("select 1 as found from account where id = $1 and kind = 'account'", [id])
    if (isAccount !== undefined) movements.set(id, -refundNano)
  }
  return movements
}

async function leftOf (queries: Queries, { seq, amountNano }: UsageEntry): Promise<number> {
  const refunded = await queries.get<{ nano: number }>(
    'select cast(coalesce(sum(amount), 0) as bigint) as nano from entry where reverses = $1', [seq])
  return amountNano - (refunded?.nano ?? 0)
}

async function adjust (
  statements: Statements, queries: Queries,
  { id, account, amountNano, reason, at, actor }: Required<Adjustment>
): Promise<boolean> {
  const [line] = await lockLines(statements, queries, [account])
  const [debit, credit] = amountNano > 0 ? ['funding', account] as const : [account, 'funding'] as const
  const terms = { kind: 'adjust', debit, credit } as const
  if (await isBooked(queries, id, terms, Math.abs(amountNano))) return false
  refuseClosed(line)
  if (amountNano < 0 && -amountNano > await ownFreeNano(queries, line)) throw new LacksCredit(account)
  const movements = amountNano > 0
    ? movementsBetween(null, line, amountNano)
    : movementsBetween(line, null, -amountNano)
  await bookCredits(queries, { id, ...terms, amountNano: Math.abs(amountNano), reason, at, actor }, movements)
  return true
}

async function bookedAs (queries: Queries, id: string): Promise<Booked | undefined> {
  return await queries.get<Booked>(
    'select kind, debit, credit, amount, reverses from entry where idempotency_key = $1', [id])
}
