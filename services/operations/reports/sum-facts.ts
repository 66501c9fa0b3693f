import type { Value } from '../../store/store.ts'
import { factSums, type factKeys, type FactSum } from './usage-facts.ts'

type FactKey = typeof factKeys[number]

/** Entries that agree in all keys but their tags, as `groupsOf` returns them. */
export type EntryGroup = Record<Exclude<FactKey, 'tags'>, Value> & { entries: string }

/** A row of `usage_day`. */
export type DayRow = Record<FactKey, Value> & Sums

type Sums = Record<FactSum, number>

/** Whether it is a request, its charge, its usage, and the refunded usage. */
type Posted = [isRequest: number, amount: number, usage: Usage | null, origin: Usage | null]

type Usage = Record<string, unknown>

const max = Number.MAX_SAFE_INTEGER
const noUsage: Usage = {}

/**
 * Sums a group by the columns of `factsOf`, with a row per value of the tags. Parsing each usage once takes
 * half as long as 17 look-ups by SQLite.
 */
export function sumFacts ({ entries, ...keys }: EntryGroup): DayRow[] {
  const rows = new Map<string, DayRow>()
  for (const [isRequest, amount, usage, origin] of JSON.parse(entries) as Posted[]) {
    const used = origin ?? usage ?? noUsage
    const tags = used.tags == null ? '{}' : JSON.stringify(used.tags)
    let row = rows.get(tags)
    if (row === undefined) rows.set(tags, row = { ...keys, tags, ...zeros })
    row.requests += isRequest
    row.amount += amount
    if ((used.cost ?? used.reported) != null) row.costed_amount += amount
    if (usage !== null) addUsage(row, usage, amount)
  }
  for (const row of rows.values()) for (const name of factSums) row[name] = bounded(row[name], -max)
  return [...rows.values()]
}

const zeros = Object.fromEntries(factSums.map(name => [name, 0])) as Sums

function addUsage (row: Sums, usage: Usage, amount: number): void {
  const { seconds, cost, reported, excessNano } = usage
  row.prompt += count(usage.prompt)
  row.completion += count(usage.completion)
  row.cached += count(usage.cachedRead)
  row.reasoning += count(usage.reasoning)
  row.images += count(usage.images)
  row.milliseconds += typeof seconds === 'number' ? count(Math.round(seconds * 1000)) : 0
  row.saved += bounded(usage.saved, -max)
  const known = cost ?? reported
  if (known != null) {
    row.costed_requests += 1
    row.cost += count(known)
  }
  if (reported == null) return
  row.reported_requests += 1
  row.reported += count(reported)
  row.expected += count(cost ?? amount + (typeof excessNano === 'number' ? excessNano : 0))
}

const count = (value: unknown): number => bounded(value, 0)

/** A number as a safe integer of at least `least`; 0 for anything else. */
function bounded (value: unknown, least: number): number {
  return typeof value === 'number' ? Math.max(least, Math.min(Math.trunc(value), max)) : 0
}
