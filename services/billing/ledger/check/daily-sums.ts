import type { Store } from '../../../store/store.ts'
import { entriesOfPeriod, isAtMost } from '../sql/entry-blocks.ts'
import type { RollUp } from '../sql/roll-up.ts'
import type { Violation } from './rules.ts'

type Reader = Pick<Store, 'engine' | 'reports'>
type Engine = Store['engine']

/** A table with sums of entries by day and other keys. */
interface DailySums<Key extends string, Sum extends string> {
  rule: Violation['rule']
  table: 'usage_day' | 'chain_day'
  progress: RollUp['progress']
  /** The columns that identify a row: `day`, and others of text. */
  keys: readonly Key[]
  /** Those of them that a violation names. */
  named: readonly Key[]
  /** The columns with sums; a violation names the first one that differs. */
  sums: readonly Sum[]
  /** Returns a query of those columns: a row per entry of a `from` clause that meets a condition. */
  facts (engine: Engine, entries: string, condition: string): string
  /** SQL for the sum of a column. */
  sumOf (engine: Engine, sum: Sum): string
}

const dayMs = 86_400_000
/** Entries in one statement, which takes some milliseconds. */
const sliceSize = 20_000
/** The most rows of a day that are reported; one is enough to know that the day is wrong. */
const maxRows = 200

/**
 * Compares daily sums with the entries that are rolled up, day by day: each day is one statement, and so one
 * snapshot, because other nodes may add entries meanwhile. Throws StoreUnavailable, or the signal's reason.
 */
export async function * dailyViolations<Key extends string, Sum extends string> (
  store: Reader, daily: DailySums<Key, Sum>, signal?: AbortSignal
): AsyncGenerator<Violation> {
  const { rule, progress, table } = daily
  const { rolledUp, last } = await progressOf(store, progress)
  if (rolledUp > last) yield { rule, subject: progress, expected: last, found: rolledUp }
  for (const day of await daysOf(store, { table, until: Math.min(rolledUp, last) }, signal)) {
    signal?.throwIfAborted()
    yield * violationsOf(store, daily, day)
  }
}

async function progressOf (
  { reports }: Reader, progress: RollUp['progress']
): Promise<{ rolledUp: number, last: number }> {
  const row = await reports.get<{ rolledUp: number, last: number }>(`
    select seq as "rolledUp", (select coalesce(max(seq), 0) from entry) as last from ${progress}`)
  return row ?? { rolledUp: 0, last: 0 }
}

/** The days since 1970 of all entries up to a number, and those of a table. */
async function daysOf (
  { reports }: Reader, { table, until }: { table: string, until: number }, signal?: AbortSignal
): Promise<Set<number>> {
  const days = new Set<number>()
  const add = (rows: { day: number }[]): void => { for (const { day } of rows) days.add(day) }
  add(await reports.all<{ day: number }>(`select distinct day from ${table}`))
  for (let first = 0; first < until; first += sliceSize) {
    signal?.throwIfAborted()
    add(await reports.all<{ day: number }>(`
      select distinct at / ${dayMs} as day from entry
      where seq > $1 and seq <= $2 and kind in ('usage', 'refund')`, [first, Math.min(first + sliceSize, until)]))
  }
  return days
}

type DayRow<Key extends string, Sum extends string> =
  Record<Key, string> & Record<Sum, number> & { isFound: number }

async function * violationsOf<Key extends string, Sum extends string> (
  { engine, reports }: Reader, daily: DailySums<Key, Sum>, day: number
): AsyncGenerator<Violation> {
  const { rule, keys, named, sums } = daily
  const rows = await reports.all<DayRow<Key, Sum>>(
    differences(engine, daily), [day * dayMs, (day + 1) * dayMs, day])
  const date = new Date(day * dayMs).toISOString().slice(0, 10)
  const keyOf = (row: DayRow<Key, Sum>): string => JSON.stringify(keys.map(name => String(row[name])))
  for (const pair of Map.groupBy(rows, keyOf).values()) {
    const [row] = pair
    if (row === undefined) continue
    const [booked, found] = [0, 1].map(side => pair.find(({ isFound }) => isFound === side))
    const different = (name: Sum): boolean => (booked?.[name] ?? 0) !== (found?.[name] ?? 0)
    const column = sums.find(different) ?? sums[0]
    if (column === undefined) continue
    const subject = [date, ...named.map(name => row[name]), column].filter(text => text !== '').join(' ')
    yield { rule, subject, expected: booked?.[column] ?? null, found: found?.[column] ?? null }
  }
}

/** Returns the query of the rows of a day that only the entries (0) or only the table (1) has. */
function differences<Key extends string, Sum extends string> (
  engine: Engine, { table, progress, keys: keyNames, sums, facts, sumOf }: DailySums<Key, Sum>
): string {
  const keys = keyNames.join(', ')
  const ofDay = facts(engine, entriesOfPeriod(engine),
    `entry.at >= $1 and entry.at < $2 and ${isAtMost(`(select seq from ${progress})`)}`)
  return `
    with booked as materialized (
      select ${keys}, ${sums.map(name => `${sumOf(engine, name)} as ${name}`).join(', ')}
      from (${ofDay}) as fact group by ${keys}
    ), found as materialized (
      select ${keys}, ${sums.join(', ')} from ${table} where day = $3
    )
    select * from (
      select 0 as "isFound", lacking.* from (select * from booked except select * from found) as lacking
      union all
      select 1 as "isFound", extra.* from (select * from found except select * from booked) as extra
    ) as different order by ${keys} limit ${maxRows}`
}
