import { chainId, type EntryRow, type Inserted } from '../sql/entries.ts'
import type { Posting } from '../ledger.ts'
import type { Term } from '../node-allowance.ts'
import { holdState, type DurableRow, type EndedRow } from '../sql/durable-holds.ts'
import { isFree, usageText, type OpenHold, type Settlement, type SuspenseReason } from '../types.ts'

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
}

export interface BalanceChange {
  postedNano: number
  suspendedNano: number
  spentNano: number
  releasedNano: number
  /** The last of the present term. */
  sequence: number
}

export type Postings = ReturnType<typeof createPostings>

/** Turns settlements into entries, given what is booked already. */
export function createPostings (settlements: readonly Settlement[], known: KnownHolds) {
  const { term, durable } = known
  const rowsOf = ({ id, grant }: OpenHold) => grant === null ? durable.get(id) ?? noRows : noRows
  const decided: { settlement: Settlement, outcome: Outcome, entry: EntryRow | null }[] = []
  const entries: EntryRow[] = []
  const chains = new Set<readonly string[]>()
  for (const settlement of settlements) {
    const outcome = outcomeOf(settlement, known, rowsOf(settlement.hold))
    const entry = entryOf(settlement, outcome)
    decided.push({ settlement, outcome, entry })
    if (entry === null) continue
    entries.push(entry, ...excessOf(settlement, outcome))
    chains.add(settlement.hold.chain)
  }

  return {
    entries,
    chains,
    /** To be reported to the operator. */
    suspended: entries.filter(({ kind }) => kind === 'suspense'),

    /** Sums up settlements per account; only entries that were `inserted` are spent. */
    changes (inserted: Inserted): Map<string, BalanceChange> {
      const changes = createChanges()
      for (const { settlement: { hold, sequence, charge, suspended }, outcome, entry } of decided) {
        if (isFree(hold)) continue
        const amountNano = charge?.amountNano ?? 0
        const isNew = isCharged(outcome, entry, inserted)
        for (const account of hold.chain) {
          const change = changes.of(account)
          // Also where it was booked before: then by a commit whose answer got lost, after which it still
          // counts as posted here.
          if (hold.grant?.term === term) {
            change[suspended === null ? 'postedNano' : 'suspendedNano'] += amountNano
            if (sequence > change.sequence) change.sequence = sequence
          }
          if (isNew) change.spentNano += amountNano
        }
        if (outcome === 'skip') continue
        for (const row of rowsOf(hold)) {
          if (row.state === holdState.open) changes.of(row.account).releasedNano += row.amountNano
        }
      }
      return changes.all
    },

    ended (inserted: Inserted): EndedRow[] {
      const rows: EndedRow[] = []
      for (const { settlement: { hold, charge }, outcome, entry } of decided) {
        if (hold.grant !== null || isFree(hold) || outcome === 'skip') continue
        const settled = isCharged(outcome, entry, inserted) ? charge?.amountNano ?? null : null
        rows.push({ id: hold.id, state: settled === null ? holdState.released : holdState.settled, settled })
      }
      return rows
    }
  }
}

export const noChange: Readonly<BalanceChange> = {
  postedNano: 0, suspendedNano: 0, spentNano: 0, releasedNano: 0, sequence: 0
}

const noRows: readonly DurableRow[] = []

function isCharged (outcome: Outcome, entry: EntryRow | null, inserted: Inserted): boolean {
  return outcome === 'charge' && entry !== null && (entry.idempotency_key === null || inserted.has(entry.idempotency_key))
}

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
  const key = isSuspended || sequence === 0 ? `usage:${hold.id}` : null
  if (isSuspended || excessNano === 0) return rowOf(settlement, { key, posting, reason })
  // A report finds the requests that were not charged in full by this member.
  const usage = { ...posting.usage, excessNano }
  return rowOf(settlement, { key, posting: { ...posting, amountNano, usage }, reason })
}

/** What a charged request cost above its hold. */
function excessOf (settlement: Settlement, outcome: Outcome): EntryRow[] {
  const { hold, charge } = settlement
  if (charge === null || charge.excessNano === 0 || outcome !== 'charge') return []
  const posting = { ...charge.posting, amountNano: charge.excessNano }
  return [rowOf(settlement, { key: `excess:${hold.id}`, posting, reason: 'over_hold' })]
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
