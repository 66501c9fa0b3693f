import { createJsonIds } from '../../../store/json-rows.ts'
import type { Store, Value } from '../../../store/store.ts'
import { findLastEntry } from './last-entry.ts'
import { entryRules, holdRules, holdsOfSlice, type Rule, type Violation } from './rules.ts'
import { accountViolations, sumsOfSlice, type AccountSums } from './sums.ts'
import { moveWatermark, readWatermark, unchecked, type Watermark } from './watermark.ts'

type Reader = Pick<Store, 'engine' | 'reports' | 'clock'>

/** What a check has read and found. */
export interface CheckedBooks {
  scope: CheckScope
  /** How many entries. */
  entries: number
  violations: Violation[]
}

/** The entries since the last check that found nothing, or all. */
export type CheckScope = 'new' | 'all'

interface CheckOptions {
  scope?: CheckScope
  signal?: AbortSignal
  /** What is made from the entries, compared with them by a check of everything. */
  derived?: (store: Reader, signal?: AbortSignal) => AsyncIterable<Violation>
}

const maxViolationsPerRule = 100
/** Entries or holds in one statement, which takes some 20 ms. */
const sliceSize = 10_000
const holdsAtOnce = 1_000
/** A transaction may end this long after the time that it writes. */
const marginMs = 3_600_000

/**
 * Checks by default all accounts, and the entries and holds since the last check that found nothing; returns
 * up to a hundred violations of each rule. A check of everything confirms violations. Requests may go on
 * meanwhile. Throws StoreUnavailable, or the signal's reason.
 *
 * Entries cannot be changed without removing their triggers. A change by someone who does that, and one of a
 * hold that ended long ago, is found by a check of everything only.
 */
export async function checkBooks (
  store: Store, { scope = 'new', signal, derived }: CheckOptions = {}
): Promise<CheckedBooks> {
  const present = await readWatermark(store)
  const checkFrom = async (base: Watermark): Promise<CheckedBooks> => {
    const { violations, entries, next, sums } = await check(store, base, { signal, derived })
    if (violations.length === 0 && next !== null) await moveWatermark(store, { present, base, next, sums })
    return { scope: base === unchecked ? 'all' : 'new', entries, violations }
  }
  const checked = scope === 'all' || present.seq === 0 ? null : await checkFrom(present)
  return checked?.violations.length === 0 ? checked : await checkFrom(unchecked)
}

/** Checks everything, and remembers nothing. Throws StoreUnavailable. */
export async function checkLedger (store: Reader): Promise<Violation[]> {
  return (await check(store, unchecked)).violations
}

interface Checked extends Omit<CheckedBooks, 'scope'> {
  /** The watermark after this check; null while entries may still become visible. */
  next: Watermark | null
  sums: Iterable<AccountSums>
}

/**
 * Entries never change, so those up to `end` are read in slices. What comes later is summed up by the
 * statement that reads an account, so that it is compared with its entries of the same moment.
 */
async function check (
  store: Reader, from: Watermark, { signal, derived }: Pick<CheckOptions, 'signal' | 'derived'> = {}
): Promise<Checked> {
  const findings = createFindings(store)
  const checkedAt = store.clock()
  const { seq: end, isStable } = await findLastEntry(store)
  const sums = new Map<string, AccountSums>()
  for (let first = from.seq; first < end; first += sliceSize) {
    signal?.throwIfAborted()
    const slice = [first, Math.min(first + sliceSize, end)] as const
    await findings.read([...entryRules, ...holdRules(holdsOfSlice)], slice)
    if (isStable) addSums(sums, await sumsOfSlice(store, slice))
  }
  await checkHolds(store, findings, from.checkedAt - marginMs)
  const until = isStable ? end : from.seq
  const accounts = accountViolations(store, { verified: from.seq, until, between: sums })
  for await (const violation of accounts) findings.add(violation)
  if (from === unchecked && derived !== undefined) {
    for await (const violation of derived(store, signal)) findings.add(violation)
  }
  return {
    entries: end - from.seq,
    violations: findings.list(),
    next: isStable ? { seq: end, checkedAt } : null,
    sums: sums.values()
  }
}

function addSums (sums: Map<string, AccountSums>, more: readonly AccountSums[]): void {
  for (const { account, spentNano, creditsNano } of more) {
    const sum = sums.get(account)
    if (sum === undefined) {
      sums.set(account, { account, spentNano, creditsNano })
    } else {
      sum.spentNano += spentNano
      sum.creditsNano += creditsNano
    }
  }
}

/** Checks the durable holds that ended since a time; those that entries settled are checked with these. */
async function checkHolds ({ engine, reports }: Reader, findings: Findings, sinceMs: number): Promise<void> {
  const ids = createJsonIds(engine)
  const rules = holdRules(`${ids.sql} as given`)
  let after: { at: number, id: string } | undefined = { at: sinceMs, id: '' }
  while (after !== undefined) {
    const rows: { at: number, id: string }[] = await reports.all(`
      select resolved_at as at, id from hold
      where kind <> 'node' and resolved_at is not null and (resolved_at, id) > ($1, $2)
      order by resolved_at, id limit $3`, [after.at, after.id, holdsAtOnce])
    await findings.read(rules, [ids.parameter(rows.map(({ id }) => id))])
    after = rows.length === holdsAtOnce ? rows.at(-1) : undefined
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
