import { chainId } from './book-statements.ts'
import type { EntryRow, Inserted } from './book-statements.ts'
import type { OpenHold, Settlement } from '../types.ts'
import type { Term } from '../node-allowance.ts'
import type { DurableRow, ResolvedRow } from './statements.ts'

/**
 * What becomes of the end of a hold: booked to its accounts; to suspense, because its money was given to
 * others meanwhile; or nothing, because it has happened before.
 */
type Fate = 'book' | 'suspend' | 'skip'

/** What settlements are judged by. */
export interface Known {
  /** The present one. */
  readonly term: Term | null
  /** Up to which number the settlements of a term are in the books, by account. */
  readonly booked: ReadonlyMap<Term, ReadonlyMap<string, number>>
  /** The rows of those holds that have some, by the id of the hold. */
  readonly durable: ReadonlyMap<string, readonly DurableRow[]>
}

/** Without a term all holds have rows. */
export const withoutTerm: Pick<Known, 'term' | 'booked'> = { term: null, booked: new Map() }

/** How the settlements of a batch change one account. Integer nano-USD. */
export interface Sums {
  postedNano: number
  suspendedNano: number
  spentNano: number
  releasedNano: number
  /** The last number among those of the present term. */
  number: number
}

/** The settlements of a batch, ready to be written. */
export interface Postings {
  readonly entries: readonly EntryRow[]
  readonly chains: ReadonlySet<readonly string[]>
  /** Sums them up per account, as far as their entries were new. */
  sums (inserted: Inserted): Map<string, Sums>
  /** The durable holds that end. */
  resolved (inserted: Inserted): ResolvedRow[]
  /** Entries that go to suspense, so that the operator hears of them. */
  readonly suspended: readonly EntryRow[]
}

/** What the states of a hold in the database mean. */
export const holdState = { open: 0, settled: 1, released: 2, reclaimed: 3 } as const

/** The id of the one entry that a hold can have, unless its settlement is numbered and charged. */
export function usageEntryId (hold: Pick<OpenHold, 'id'>): string {
  return `usage:${hold.id}`
}

/** Prepares settlements under the present term. */
export function createPostings (settlements: readonly Settlement[], known: Known): Postings {
  const { term, durable } = known
  const rowsOf = ({ id, granted }: OpenHold) => granted === null ? durable.get(id) ?? noRows : noRows
  const judged: Judged[] = []
  const entries: EntryRow[] = []
  const chains = new Set<readonly string[]>()
  for (const settlement of settlements) {
    const fate = fateOf(settlement, known, rowsOf(settlement.hold))
    const entry = entryOf(settlement, fate)
    judged.push({ settlement, fate, entry })
    if (entry === null) continue
    entries.push(entry)
    chains.add(settlement.hold.chain)
  }

  return {
    entries,
    chains,
    suspended: entries.filter(({ kind }) => kind === 'suspense'),

    sums (inserted) {
      const sums = createSums()
      for (const { settlement: { hold, number, posting, suspended }, fate, entry } of judged) {
        const amountNano = posting?.amountNano ?? 0
        const isNew = isBooked(fate, entry, inserted)
        for (const account of hold.chain) {
          const sum = sums.of(account)
          // What was in the books before was posted then, in a commit whose answer got lost.
          if (hold.granted?.term === term) {
            sum[suspended ? 'suspendedNano' : 'postedNano'] += amountNano
            if (number > sum.number) sum.number = number
          }
          if (isNew) sum.spentNano += amountNano
        }
        if (fate === 'skip') continue
        for (const row of rowsOf(hold)) {
          if (row.state === holdState.open) sums.of(row.account).releasedNano += row.amountNano
        }
      }
      return sums.all
    },

    resolved (inserted) {
      const rows: ResolvedRow[] = []
      for (const { settlement: { hold, posting }, fate, entry } of judged) {
        if (hold.granted !== null || fate === 'skip') continue
        const settled = isBooked(fate, entry, inserted) ? posting?.amountNano ?? null : null
        rows.push({ id: hold.id, state: settled === null ? holdState.released : holdState.settled, settled })
      }
      return rows
    }
  }
}

/** What becomes of a settlement, and its entry if it has one. */
interface Judged { settlement: Settlement, fate: Fate, entry: EntryRow | null }

const noRows: readonly DurableRow[] = []

function isBooked (fate: Fate, entry: EntryRow | null, inserted: Inserted): boolean {
  return fate === 'book' && entry !== null && (entry.id === null || inserted.has(entry.id))
}

function createSums () {
  const all = new Map<string, Sums>()
  return {
    all,
    of (account: string): Sums {
      const known = all.get(account)
      if (known !== undefined) return known
      const sums = { postedNano: 0, suspendedNano: 0, spentNano: 0, releasedNano: 0, number: 0 }
      all.set(account, sums)
      return sums
    }
  }
}

function fateOf (
  { hold: { granted, chain: [account = ''] }, number, suspended }: Settlement, { term, booked }: Known,
  [row]: readonly DurableRow[]
): Fate {
  if (granted !== null) {
    if (number > 0 && number <= (booked.get(granted.term)?.get(account) ?? 0)) return 'skip'
    return granted.term === term && !suspended ? 'book' : 'suspend'
  }
  if (row?.state === holdState.settled || row?.state === holdState.released) return 'skip'
  return row?.state === holdState.open && !suspended ? 'book' : 'suspend'
}

function entryOf ({ hold, number, posting, at }: Settlement, fate: Fate): EntryRow | null {
  if (posting === null || posting.amountNano === 0 || fate === 'skip') return null
  const isCharged = fate === 'book'
  return {
    id: isCharged && number > 0 ? null : usageEntryId(hold),
    at,
    debit: isCharged ? hold.chain[0] ?? '' : 'suspense',
    credit: 'revenue',
    amount: posting.amountNano,
    kind: isCharged ? 'usage' : 'suspense',
    ref: posting.ref,
    model: posting.model,
    usage: JSON.stringify(posting.usage),
    estimated: posting.estimated ? 1 : 0,
    hold: hold.granted === null ? hold.id : null,
    api_key: hold.key,
    chain: chainId(hold.chain)
  }
}
