import { gatewayActor, recordChange, type Actor } from '../../store/audit.ts'
import { GatewayError } from '../../shared/errors.ts'
import type { Queries, Store } from '../../store/store.ts'
import { idsOf, lockLines, ownFreeNano, refuseClosed, type AccountLine } from './account-line.ts'
import { budgetPrefix } from './accounts.ts'
import { entryId, whereEntryId } from './entry-id.ts'
import { LacksCredit } from './errors.ts'
import { createRecall } from './recall.ts'
import { createStatements, type Statements } from './sql/statements.ts'
import { chainId } from './types.ts'

interface Closing {
  /** Id of the entry in suspense. */
  entry: string
  reason: string
  at?: number
  actor?: Actor
}

/** How an entry in suspense is closed: its accounts are charged after all, or the operator bears it. */
export type SuspenseOutcome = 'cleared' | 'written_off'

/** What is in suspense and not closed. */
export interface OpenSuspense { count: number, amountUsd: number }

/** Sums up what is in suspense. Throws StoreUnavailable. */
export async function readOpenSuspense ({ reports }: Pick<Store, 'reports'>): Promise<OpenSuspense> {
  const open = await reports.get<OpenSuspense>(`
    select cast(count(*) as bigint) as count, coalesce(sum(cast(amount as double precision)), 0) / 1e9 as "amountUsd"
    from entry as suspended where kind = 'suspense' and debit = 'suspense'
    and not exists (select 1 from entry where entry.reverses = suspended.seq)`)
  return open ?? { count: 0, amountUsd: 0 }
}

interface SuspendedRow { seq: number, amountNano: number, chain: string }

export type Suspense = ReturnType<typeof createSuspense>

/**
 * Creates the postings that close entries in suspense, each once and in full. Methods return false if the
 * entry was closed so before, and throw StoreUnavailable, GatewayError 404 for an unknown entry, 409 if it
 * was closed otherwise.
 */
export function createSuspense (store: Store, clock = store.clock) {
  const context = { statements: createStatements(store.engine) }
  const recall = createRecall(store)
  const close = async (queries: Queries, outcome: SuspenseOutcome, closing: Closing) =>
    await closeEntry({ ...context, queries }, outcome, { at: clock(), actor: gatewayActor, ...closing })

  return {
    /**
     * Charges the account of the request and those it is part of now, with what nodes keep spare. Throws
     * LacksCredit when one of them has less, GatewayError 409 for a closed account.
     */
    clear: async (closing: Closing): Promise<boolean> =>
      await recall.taking(queries => close(queries, 'cleared', closing)),
    writeOff: async (closing: Closing): Promise<boolean> =>
      await store.transaction(queries => close(queries, 'written_off', closing))
  }
}

interface Context { queries: Queries, statements: Statements }

async function closeEntry (
  context: Context, outcome: SuspenseOutcome, { entry, reason, at, actor }: Required<Closing>
): Promise<boolean> {
  const { queries, statements } = context
  const { condition, params } = whereEntryId(entry)
  const suspended = await queries.get<SuspendedRow>(`
    select seq, amount as "amountNano", chain from entry
    where ${condition} and kind = 'suspense' and debit = 'suspense'`, params)
  if (suspended === undefined) throw unknownEntry(entry)
  const { seq, amountNano } = suspended
  const [payer = '', ...others] = suspended.chain.split(' ')
  // Serialises the closings of an entry.
  const [line] = await lockLines(statements, queries, [payer], others)

  const earlier = await queries.get<{ kind: string }>(
    'select kind from entry where idempotency_key = $1', [keyOf(seq)])
  if (earlier !== undefined) {
    if (earlier.kind === closings[outcome].kind) return false
    throw closedOtherwise(entry, outcome)
  }
  const budgets = others.filter(id => id.startsWith(budgetPrefix))
  const chain = outcome === 'cleared' ? await charge(context, line, budgets, amountNano) : suspended.chain
  const { kind, action } = closings[outcome]
  const debit = outcome === 'cleared' ? payer : 'revenue'
  await queries.run(insertClosing, [keyOf(seq), at, reason, actor.id, seq, debit, kind, chain])
  const after = { entry, amount_nano: amountNano, reason }
  await recordChange(queries, { actor, action, target: `account:${payer}`, after, at })
  return true
}

/** Returns the id of the chain that was charged. */
async function charge (
  { queries, statements }: Context, line: AccountLine, budgets: readonly string[], amountNano: number
): Promise<string> {
  refuseClosed(line)
  const [account, ...above] = line
  if (await ownFreeNano(queries, line) < amountNano) throw new LacksCredit(account.id)
  for (const { id, creditsNano, spentNano, heldNano } of above) {
    if (creditsNano - spentNano - heldNano < amountNano) throw new LacksCredit(id)
  }
  // A budget limits what its key may begin to spend, and this was begun.
  const chain = [...idsOf(line), ...budgets]
  await statements.insertChains(queries, chain.map(account => ({ id: chainId(chain), account })))
  await statements.changeAccounts(queries, chain.map(id => ({ id, spent: amountNano, held: 0 })))
  return chainId(chain)
}

const closings = {
  cleared: { kind: 'usage', action: 'suspense.clear' },
  written_off: { kind: 'suspense', action: 'suspense.write_off' }
} as const

/** The unique key lets an entry be closed once, whatever happens at the same time. */
function keyOf (seq: number): string {
  return `close:${entryId(seq)}`
}

/** The usage of a request that was charged its hold is in the entry of that charge already. */
const insertClosing = `
  insert into entry (idempotency_key, at, reason, actor, debit, credit, amount, kind, ref, model, provider,
    usage, estimated, api_key, chain, reverses)
  select $1, cast($2 as bigint), $3, $4, $6, 'suspense', amount, $7, ref, model, provider,
    case reason when 'over_hold' then null else usage end, case reason when 'over_hold' then 0 else estimated end,
    api_key, $8, seq
  from entry as suspended where seq = $5`

function unknownEntry (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `No entry in suspense has the id \`${id.slice(0, 128)}\`.`,
    { param: 'id', code: 'entry_not_found' })
}

function closedOtherwise (id: string, outcome: SuspenseOutcome): GatewayError {
  const how = outcome === 'cleared' ? 'written off' : 'cleared'
  return new GatewayError(409, 'invalid_request_error', `The entry \`${id}\` was ${how} before.`,
    { param: 'id', code: 'entry_closed' })
}
