import type { Posting } from '../ledger.ts'
import type { Term } from '../node-allowance.ts'
import { holdState, type DurableRow, type EndedRow, type EntryRow } from '../sql/rows.ts'
import { chainId, isFree, usageText, type OpenHold, type Settlement, type SuspenseReason } from '../types.ts'

/**
 * What becomes of a settlement: charged to its accounts; booked to suspense, because its money was given to
 * others meanwhile; or skipped, because it was booked before.
 */
type Outcome = 'charge' | 'suspend' | 'skip'

/** What the database knows of the holds of a batch. */
export interface KnownHolds {
  readonly term: Term | null
  /** The last sequence number that is booked under a term, by account. */
  readonly booked: ReadonlyMap<Term, ReadonlyMap<string, number>>
  readonly durable: ReadonlyMap<string, readonly DurableRow[]>
  /** Those of `possibleKeys` that have an entry. */
  readonly bookedKeys: ReadonlySet<string>
}

export interface BalanceChange {
  postedNano: number
  suspendedNano: number
  spentNano: number
  releasedNano: number
  /** The last of the present term whose payer the account is. */
  sequence: number
}

export type Postings = ReturnType<typeof createPostings>

/** Returns the idempotency keys that entries of the settlements may have. */
export function possibleKeys (settlements: readonly Settlement[], term: Term | null): string[] {
  const keys: string[] = []
  for (const { hold: { id, grant }, sequence, suspended } of settlements) {
    if (sequence === 0 || suspended !== null || grant?.term !== term) keys.push(usageKey(id))
  }
  return keys
}

/**
 * Turns settlements into entries, given what is booked already. One function, because entries, sums and ended
 * holds follow from the same decisions.
 */
export function createPostings (settlements: readonly Settlement[], known: KnownHolds) {
  const { term, durable } = known
  const rowsOf = ({ id, grant }: OpenHold) => grant === null ? durable.get(id) ?? noRows : noRows
  const decided: { settlement: Settlement, outcome: Outcome, isCharged: boolean }[] = []
  const entries: EntryRow[] = []
  const chains = new Set<readonly string[]>()
  const keys = new Set(known.bookedKeys)
  for (const settlement of settlements) {
    const outcome = outcomeOf(settlement, known, rowsOf(settlement.hold))
    const entry = entryOf(settlement, outcome)
    const key = entry?.idempotency_key ?? null
    const isNew = entry !== null && (key === null || !keys.has(key))
    decided.push({ settlement, outcome, isCharged: isNew && outcome === 'charge' })
    if (!isNew) continue
    if (key !== null) keys.add(key)
    entries.push(entry)
    entries.push(...beyondCharge(settlement, outcome))
    chains.add(settlement.hold.chain)
  }

  return {
    entries,
    chains,
    /** To be reported to the operator. */
    suspended: entries.filter(({ kind }) => kind === 'suspense'),

    /** Sums up settlements per account; only new entries are spent. */
    changes (): Map<string, BalanceChange> {
      const changes = createChanges()
      for (const { settlement: { hold, sequence, charge, suspended }, outcome, isCharged } of decided) {
        if (isFree(hold)) continue
        const amountNano = charge?.amountNano ?? 0
        const [payer] = hold.chain
        for (const account of hold.chain) {
          const change = changes.of(account)
          // Also where it was booked before: then by a commit whose result got lost, after which it still
          // counts as posted here.
          if (hold.grant?.term === term) {
            change[suspended === null ? 'postedNano' : 'suspendedNano'] += amountNano
            // Of the payer only: a later settlement of another chain may be booked before an earlier one.
            if (account === payer && sequence > change.sequence) change.sequence = sequence
          }
          if (isCharged) change.spentNano += amountNano
        }
        if (outcome === 'skip') continue
        for (const row of rowsOf(hold)) {
          if (row.state === holdState.open) changes.of(row.account).releasedNano += row.amountNano
        }
      }
      return changes.all
    },

    ended (): EndedRow[] {
      const rows: EndedRow[] = []
      for (const { settlement: { hold, charge }, outcome, isCharged } of decided) {
        if (hold.grant !== null || isFree(hold) || outcome === 'skip') continue
        const open = rowsOf(hold).filter(({ state }) => state === holdState.open).length
        if (open === 0) continue
        const settled = isCharged ? charge?.amountNano ?? null : null
        const state = settled === null ? holdState.released : holdState.settled
        rows.push({ id: hold.id, state, settled, open })
      }
      return rows
    }
  }
}

export const noChange: Readonly<BalanceChange> = {
  postedNano: 0, suspendedNano: 0, spentNano: 0, releasedNano: 0, sequence: 0
}

const noRows: readonly DurableRow[] = []

function createChanges () {
  const all = new Map<string, BalanceChange>()
  return {
    all,
    of (account: string): BalanceChange {
      const known = all.get(account)
      if (known !== undefined) return known
      const change = { ...noChange }
      all.set(account, change)
      return change
    }
  }
}

function outcomeOf (
  { hold, sequence, suspended }: Settlement, { term, booked }: KnownHolds, [row]: readonly DurableRow[]
): Outcome {
  const { grant, chain: [account = ''] } = hold
  if (isFree(hold)) return suspended === null ? 'charge' : 'skip'
  if (grant !== null) {
    if (sequence > 0 && sequence <= (booked.get(grant.term)?.get(account) ?? 0)) return 'skip'
    return grant.term === term && suspended === null ? 'charge' : 'suspend'
  }
  if (row?.state === holdState.settled || row?.state === holdState.released) return 'skip'
  return row?.state === holdState.open && suspended === null ? 'charge' : 'suspend'
}

function entryOf (settlement: Settlement, outcome: Outcome): EntryRow | null {
  const { hold, sequence, charge, suspended } = settlement
  if (charge === null || outcome === 'skip') return null
  // Suspense is money, so nothing stands there for nothing.
  if (outcome === 'suspend' && charge.posting.amountNano === 0) return null
  const { amountNano, excessNano, posting } = charge
  const isSuspended = outcome === 'suspend'
  const reason = isSuspended ? suspended ?? 'late' : null
  // A hold has at most one entry: recognised by the sequence number if it has one.
  const key = isSuspended || sequence === 0 ? usageKey(hold.id) : null
  if (isSuspended || excessNano === 0) return rowOf(settlement, { key, posting, reason })
  // A report finds the requests that were not charged in full by this member.
  const usage = { ...posting.usage, excessNano }
  return rowOf(settlement, { key, posting: { ...posting, amountNano, usage }, reason })
}

/** The idempotency key of the entry of a hold that is not `fresh`, or was not charged. */
export function usageKey (hold: string): string {
  return `usage:${hold}`
}

/** What a charged request cost above its hold, or may cost within it. */
function beyondCharge (settlement: Settlement, outcome: Outcome): EntryRow[] {
  const { hold: { id }, charge } = settlement
  if (charge === null || outcome !== 'charge') return []
  const { excessNano, unverifiedNano, posting } = charge
  if (excessNano > 0) {
    const excess = { ...posting, amountNano: excessNano }
    return [rowOf(settlement, { key: `excess:${id}`, posting: excess, reason: 'over_hold' })]
  }
  if (unverifiedNano === 0) return []
  // Its usage is in the entry of the charge.
  const { ref, model, provider, estimated, tags } = posting
  const rest = { ref, model, provider, estimated, tags, usage: {}, amountNano: unverifiedNano }
  return [rowOf(settlement, { key: `excess:${id}`, posting: rest, reason: 'unverified' })]
}

interface RowParts { key: string | null, posting: Posting, reason: SuspenseReason | null }

function rowOf ({ hold, at }: Settlement, { key, posting, reason }: RowParts): EntryRow {
  return {
    idempotency_key: key,
    at,
    debit: reason === null ? hold.chain[0] ?? '' : 'suspense',
    credit: 'revenue',
    amount: posting.amountNano,
    kind: reason === null ? 'usage' : 'suspense',
    ref: posting.ref,
    model: posting.model,
    provider: posting.provider ?? null,
    usage: usageText(posting),
    estimated: posting.estimated ? 1 : 0,
    hold: hold.grant === null && !isFree(hold) ? hold.id : null,
    api_key: hold.key,
    chain: chainId(hold.chain),
    reason
  }
}
