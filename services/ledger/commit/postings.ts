import type { Term } from '../node-allowance.ts'
import { holdState, type DurableRow, type EndedRow } from '../sql/durable-holds.ts'
import { chainId, type EntryRow, type Inserted } from '../sql/entries.ts'
import type { OpenHold, Settlement } from '../types.ts'

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
    entries.push(entry)
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
      for (const { settlement: { hold, sequence, posting, suspended }, outcome, entry } of decided) {
        const amountNano = posting?.amountNano ?? 0
        const isNew = isCharged(outcome, entry, inserted)
        for (const account of hold.chain) {
          const change = changes.of(account)
          // Also where it was booked before: then by a commit whose answer got lost, after which it still
          // counts as posted here.
          if (hold.grant?.term === term) {
            change[suspended ? 'suspendedNano' : 'postedNano'] += amountNano
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
      for (const { settlement: { hold, posting }, outcome, entry } of decided) {
        if (hold.grant !== null || outcome === 'skip') continue
        const settled = isCharged(outcome, entry, inserted) ? posting?.amountNano ?? null : null
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
  { hold: { grant, chain: [account = ''] }, sequence, suspended }: Settlement, { term, booked }: KnownHolds,
  [row]: readonly DurableRow[]
): Outcome {
  if (grant !== null) {
    if (sequence > 0 && sequence <= (booked.get(grant.term)?.get(account) ?? 0)) return 'skip'
    return grant.term === term && !suspended ? 'charge' : 'suspend'
  }
  if (row?.state === holdState.settled || row?.state === holdState.released) return 'skip'
  return row?.state === holdState.open && !suspended ? 'charge' : 'suspend'
}

function entryOf ({ hold, sequence, posting, at }: Settlement, outcome: Outcome): EntryRow | null {
  if (posting === null || posting.amountNano === 0 || outcome === 'skip') return null
  const charged = outcome === 'charge'
  return {
    // A hold has at most one entry: recognised by the sequence number if it has one.
    idempotency_key: charged && sequence > 0 ? null : `usage:${hold.id}`,
    at,
    debit: charged ? hold.chain[0] ?? '' : 'suspense',
    credit: 'revenue',
    amount: posting.amountNano,
    kind: charged ? 'usage' : 'suspense',
    ref: posting.ref,
    model: posting.model,
    usage: JSON.stringify(posting.usage),
    estimated: posting.estimated ? 1 : 0,
    hold: hold.grant === null ? hold.id : null,
    api_key: hold.key,
    chain: chainId(hold.chain)
  }
}
