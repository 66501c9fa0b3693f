import type { Violation } from '../../billing/ledger/check/rules.ts'
import { entriesOfPeriod, isAtMost } from '../../billing/ledger/sql/entry-blocks.ts'
import type { Store } from '../../store/store.ts'
import { factKeys, factsOf, factSums, sumOf, utcDayMs, type FactSum } from './usage-facts.ts'

type Reader = Pick<Store, 'engine' | 'reports'>

const rule: Violation['rule'] = 'usage by day is the sum of its entries'
/** Entries in one statement, which takes some milliseconds. */
const sliceSize = 20_000
/** The most rows of a day that are reported; one is enough to know that the day is wrong. */
const maxRows = 200

/**
 * Compares `usage_day` with the entries that are in it, day by day: each day is one statement, and so one
 * snapshot, because other nodes may add entries meanwhile. Throws StoreUnavailable, or the signal's reason.
 */
export async function * rollUpViolations (store: Reader, signal?: AbortSignal): AsyncGenerator<Violation> {
  const { rolledUp, last } = await readProgress(store)
  if (rolledUp > last) yield { rule, subject: 'usage_progress', expected: last, found: rolledUp }
  for (const day of await readDays(store, Math.min(rolledUp, last), signal)) {
    signal?.throwIfAborted()
    yield * violationsOf(store, day)
  }
}

async function readProgress ({ reports }: Reader): Promise<{ rolledUp: number, last: number }> {
  const row = await reports.get<{ rolledUp: number, last: number }>(`
    select seq as "rolledUp", (select coalesce(max(seq), 0) from entry) as last from usage_progress`)
  return row ?? { rolledUp: 0, last: 0 }
}

/** Reads the days since 1970 of all entries up to a number, and those of `usage_day`. */
async function readDays ({ reports }: Reader, until: number, signal?: AbortSignal): Promise<Set<number>> {
  const days = new Set<number>()
  const add = (rows: { day: number }[]): void => { for (const { day } of rows) days.add(day) }
  add(await reports.all<{ day: number }>('select distinct day from usage_day'))
  for (let first = 0; first < until; first += sliceSize) {
    signal?.throwIfAborted()
    add(await reports.all<{ day: number }>(`
      select distinct at / ${utcDayMs} as day from entry
      where seq > $1 and seq <= $2 and kind in ('usage', 'refund')`, [first, Math.min(first + sliceSize, until)]))
  }
  return days
}

type DayRow = Record<typeof factKeys[number], string> & Record<FactSum, number> & { isFound: number }

async function * violationsOf ({ engine, reports }: Reader, day: number): AsyncGenerator<Violation> {
  const rows = await reports.all<DayRow>(differencesOf(engine), [day * utcDayMs, (day + 1) * utcDayMs, day])
  const date = new Date(day * utcDayMs).toISOString().slice(0, 10)
  const keyOf = (row: DayRow): string => JSON.stringify(factKeys.map(name => String(row[name])))
  for (const pair of Map.groupBy(rows, keyOf).values()) {
    const [row] = pair
    if (row === undefined) continue
    const [booked, found] = [0, 1].map(side => pair.find(({ isFound }) => isFound === side))
    const column = factSums.find(name => (booked?.[name] ?? 0) !== (found?.[name] ?? 0)) ?? factSums[0]
    const subject = [date, row.account, row.api_key, row.model, column].filter(text => text !== '').join(' ')
    yield { rule, subject, expected: booked?.[column] ?? null, found: found?.[column] ?? null }
  }
}

/** Returns the query of the rows of a day that only the entries (0) or only the table (1) has. */
function differencesOf (engine: Store['engine']): string {
  const keys = factKeys.join(', ')
  const ofDay = factsOf(engine, entriesOfPeriod(engine),
    `entry.at >= $1 and entry.at < $2 and ${isAtMost('(select seq from usage_progress)')}`)
  return `
    with booked as materialized (
      select ${keys}, ${factSums.map(name => `${sumOf(engine, name)} as ${name}`).join(', ')}
      from (${ofDay}) as fact group by ${keys}
    ), found as materialized (
      select ${keys}, ${factSums.join(', ')} from usage_day where day = $3
    )
    select * from (
      select 0 as "isFound", lacking.* from (select * from booked except select * from found) as lacking
      union all
      select 1 as "isFound", extra.* from (select * from found except select * from booked) as extra
    ) as different order by ${keys} limit ${maxRows}`
}
