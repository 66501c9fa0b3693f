import type { Store, Value } from '../../../store/store.ts'
import { settledSeq } from '../sql/settled-seq.ts'
import { entryRules, holdRules, type Rule, type Violation } from './rules.ts'
import { accountViolations, addSums, sumsOfSlice, type AccountSums } from './sums.ts'

type Reader = Pick<Store, 'engine' | 'reports'>

/** What a check has read and found. */
export interface CheckedBooks {
  /** How many entries. */
  entries: number
  violations: Violation[]
}

interface CheckOptions {
  signal?: AbortSignal
  /** Compares what is made from the entries with them. */
  derived?: (store: Reader, signal?: AbortSignal) => AsyncIterable<Violation>
}

const maxViolationsPerRule = 100
/** Entries or holds in one statement, which takes some 20 ms. */
const sliceSize = 10_000
const holdsAtOnce = 1_000

/**
 * Checks all entries, durable holds and accounts; returns up to a hundred violations of each rule. Requests
 * may go on meanwhile. Throws StoreUnavailable, or the signal's reason.
 *
 * Entries never change, so they are read in slices. Those booked after the slices are summed up by the
 * statement that reads an account, so that it is compared with its entries of the same moment.
 */
export async function checkBooks (
  store: Reader, { signal, derived }: CheckOptions = {}
): Promise<CheckedBooks> {
  const findings = createFindings(store)
  const { seq: last, isSettled } = await findLastEntry(store)
  const sums = new Map<string, AccountSums>()
  for (let first = 0; first < last; first += sliceSize) {
    signal?.throwIfAborted()
    const slice = [first, Math.min(first + sliceSize, last)] as const
    await findings.read(entryRules, slice)
    if (isSettled) addSums(sums, await sumsOfSlice(store, slice))
  }
  await checkHolds(store, findings)
  for await (const violation of accountViolations(store, isSettled ? last : 0, sums)) findings.add(violation)
  if (derived !== undefined) {
    for await (const violation of derived(store, signal)) findings.add(violation)
  }
  return { entries: last, violations: findings.list() }
}

/** As `checkBooks`; returns the violations alone. */
export async function checkLedger (store: Reader): Promise<Violation[]> {
  return (await checkBooks(store)).violations
}

/**
 * Returns the number of the last entry. `isSettled`: no entry up to it can become visible later; only then
 * may sums of slices be added to sums of what comes after.
 */
async function findLastEntry ({ engine, reports }: Reader): Promise<{ seq: number, isSettled: boolean }> {
  const settled = await settledSeq({ engine, ...reports })
  if (settled !== null) return { seq: settled, isSettled: true }
  const last = await reports.get<{ seq: number }>('select coalesce(max(seq), 0) as seq from entry')
  return { seq: last?.seq ?? 0, isSettled: false }
}

/** Checks all durable holds, in the order of their ids. */
async function checkHolds ({ reports }: Reader, findings: Findings): Promise<void> {
  let after: string | null = ''
  while (after !== null) {
    const next: { id: string | null } | undefined = await reports.get(`
      select max(id) as id from (
        select distinct id from hold where kind <> 'node' and id > $1 order by id limit $2
      ) as next`, [after, holdsAtOnce])
    const until: string | null = next?.id ?? null
    if (until !== null) await findings.read(holdRules, [after, until])
    after = until
  }
}

type Findings = ReturnType<typeof createFindings>

/** Collects violations, each once. */
function createFindings ({ reports }: Reader) {
  const found = new Map<string, Map<string, Violation>>()

  function add (violation: Violation): void {
    const ofRule = found.get(violation.rule) ?? new Map<string, Violation>()
    found.set(violation.rule, ofRule)
    if (ofRule.size < maxViolationsPerRule) ofRule.set(violation.subject, violation)
  }

  return {
    add,
    async read (rules: readonly Rule[], params: readonly Value[]): Promise<void> {
      for (const { rule, sql } of rules) {
        const broken = `${sql} order by 1 limit ${maxViolationsPerRule}`
        const rows = await reports.all<Omit<Violation, 'rule'>>(broken, params)
        for (const row of rows) add({ rule, ...row })
      }
    },
    list: (): Violation[] => Array.from(found.values(), ofRule => [...ofRule.values()]).flat()
  }
}
