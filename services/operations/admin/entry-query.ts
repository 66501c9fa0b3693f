import type { Entry } from '../../../schemas/admin/entries.ts'
import type { ClosedMonth, Month } from '../../billing/ledger/books/months.ts'
import { entriesAfter, entriesOfPeriod, isAtMost } from '../../billing/ledger/sql/entry-blocks.ts'
import type { Store, Value } from '../../store/store.ts'

/** Which entries to list, newest first. Times in milliseconds since 1970; `to` is exclusive. */
export interface EntrySelection {
  account: string | undefined
  /** Only entries that name the account, and not those of accounts below it. */
  isOwn: boolean
  kind: Entry['kind'] | undefined
  from: number | undefined
  to: number | undefined
  /** Only entries that count in this month. */
  month: MonthOfBooks | undefined
  /** Continues after the entry with this number. */
  before: number | undefined
  limit: number
}

/** A month as the books have it: entries of its time, and those that came too late for the months before. */
export interface MonthOfBooks extends Pick<Month, 'startsAt' | 'endsAt'> {
  /** The last entry of the closed month before it; null: that month is open. */
  lateAfter: number | null
  /** The last entry that may count in it; null: it is open. */
  until: number | null
}

/** Returns a month as the books have it, given the closed months, the first one first. */
export function monthOfBooks ({ startsAt, endsAt }: Month, closed: readonly ClosedMonth[]): MonthOfBooks {
  const before = closed.find(month => month.endsAt === startsAt)
  const own = closed.find(month => month.endsAt >= endsAt)
  return { startsAt, endsAt, lateAfter: before?.lastEntry ?? null, until: own?.lastEntry ?? null }
}

/** Where entries are read, and under which conditions. */
interface Part { source: string, conditions: readonly string[] }

/** Returns the query of the `columns` of entries and their `movedNano`, and adds its parameters. */
export function entriesSql (
  engine: Store['engine'], columns: string, selection: EntrySelection, params: Value[]
): string {
  const { kind, before, limit, isOwn } = selection
  const place = (value: Value) => `$${params.push(value)}`
  const periods = periodsOf(engine, selection, place)
  const common = [`entry.seq < ${place(before ?? Number.MAX_SAFE_INTEGER)}`, ...kindConditions(kind, place)]
  const max = place(limit)
  const account = selection.account === undefined ? null : place(selection.account)
  const parts = periods.flatMap(({ source, conditions }): Part[] => {
    const all = [...common, ...conditions]
    if (account === null) return [{ source, conditions: all }]
    const hasCharges = kind === undefined || kind === 'usage' || kind === 'refund'
    return [
      ...kind === 'usage' ? [] : namedBy(account, isOwn).map(part => ({ ...part, conditions: [...all, ...part.conditions] })),
      ...hasCharges ? [chargesOf(engine, account, { isOwn, source, all, max })] : []
    ]
  })
  const moved = account === null ? 'cast(null as bigint)' : `(${movedBy(account)})`
  const queries = parts.map(({ source, conditions }) => `
    select ${columns}, ${moved} as "movedNano" from ${source}
    where ${conditions.join(' and ')} order by entry.seq desc limit ${max}`)
  if (queries.length === 1) return queries.join()
  return `${queries.map(part => `select * from (${part}) as part`).join(' union all ')} order by seq desc limit ${max}`
}

/** By how much an operator's entry changed the credits of an account. */
const movedBy = (account: string) => `
  select movement.amount from movement where movement.entry = entry.seq and movement.account = ${account}`

/** Returns where the entries of a time are read, or those of a month, which are in two places. */
function periodsOf (
  engine: Store['engine'], { from, to, month }: EntrySelection, place: (value: Value) => string
): Part[] {
  const isBounded = from !== undefined || to !== undefined
  if (!isBounded && month === undefined) return [{ source: 'entry', conditions: [] }]
  const [first, beyond] = [place(from ?? 0), place(to ?? Number.MAX_SAFE_INTEGER)]
  const times = [`at >= ${first}`, `at < ${beyond}`]
  if (month === undefined) return [{ source: entriesOfPeriod(engine, first, beyond), conditions: times }]
  const [start, end] = [place(month.startsAt), place(month.endsAt)]
  const last = month.until === null ? [] : [isAtMost(place(month.until))]
  const own = [`at >= ${start}`, `at < ${end}`, ...last, ...times]
  const inTime = { source: entriesOfPeriod(engine, start, end), conditions: own }
  if (month.lateAfter === null) return [inTime]
  const after = place(month.lateAfter)
  const late = [`entry.seq > ${after}`, `at < ${start}`, ...last, ...times]
  return [inTime, { source: entriesAfter(engine, after, start), conditions: late }]
}

/** As the indexes of operators' entries have it. */
const isNoUsage = "entry.kind <> 'usage'"

function kindConditions (kind: Entry['kind'] | undefined, place: (value: Value) => string): string[] {
  if (kind === undefined) return []
  return [`entry.kind = ${place(kind)}`, ...(kind === 'usage' ? [] : [isNoUsage])]
}

const movementOf = (account: string) => `select entry from movement where movement.account = ${account}`

/** Operators' entries, in parts without a common one: each reads an index, newest first. */
function namedBy (account: string, isOwn: boolean): Part[] {
  const others = [`entry.debit <> ${account}`, isNoUsage]
  return [
    { source: 'entry', conditions: [`entry.debit = ${account}`, isNoUsage] },
    { source: 'entry', conditions: [`entry.credit = ${account}`, ...others] },
    ...(isOwn
      ? []
      : [{
          source: 'movement join entry on entry.seq = movement.entry',
          conditions: [`movement.account = ${account}`, `entry.credit <> ${account}`, ...others]
        }])
  ]
}

interface ChargesOptions {
  isOwn: boolean
  /** Of a period; `entry` for all. */
  source: string
  all: readonly string[]
  max: string
}

/**
 * Usage, and refunds that are in no other part, by the chains of the account. On Postgres, which has an index
 * of chains, the newest of each; on SQLite, and of a period, entries are read from the newest on.
 */
function chargesOf (
  engine: Store['engine'], account: string, { isOwn, source, all, max }: ChargesOptions
): Part {
  const refund = `entry.kind = 'refund' and entry.debit <> ${account} and entry.credit <> ${account}
    and entry.seq not in (${movementOf(account)})`
  const kinds = isOwn ? `entry.kind = 'usage' and entry.debit = ${account}` : `(entry.kind = 'usage' or ${refund})`
  // A chain begins with the account that pays.
  const pays = `substr(chain.id || ' ', 1, length(${account}) + 1) = ${account} || ' '`
  const own = [`chain.account = ${account}`, ...(isOwn ? [pays] : [])]
  if (engine === 'sqlite' || source !== 'entry') {
    const ofChains = `entry.chain in (select id from chain where ${own.join(' and ')})`
    return { source, conditions: [...all, kinds, ofChains] }
  }
  const conditions = [...all, 'entry.chain = chain.id', 'entry.chain is not null', kinds].join(' and ')
  const newest = `select entry.* from entry where ${conditions} order by entry.seq desc limit ${max}`
  return { source: `chain cross join lateral (${newest}) as entry`, conditions: own }
}
