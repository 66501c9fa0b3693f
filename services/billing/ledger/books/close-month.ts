import { randomUUID } from 'node:crypto'
import { gatewayActor, recordChange, type Actor } from '../../../store/audit.ts'
import { GatewayError } from '../../../shared/errors.ts'
import { createJsonRows } from '../../../store/json-rows.ts'
import { StoreUnavailable, type Store, type Value } from '../../../store/store.ts'
import { findLastEntry } from '../check/last-entry.ts'
import { entryId } from '../entry-id.ts'
import { sumEntriesBefore } from './balances.ts'
import { readClosedMonths, readMonth, type ClosedMonth, type Month } from './months.ts'
import { toRows, type SumsByAccount } from './sums.ts'

/** Few, because on SQLite a statement blocks the event loop. */
const rowsAtOnce = 500

/**
 * Closes a month, and all before it, for good; `isNew` is false if it was closed before. Its entries are
 * those booked until now and dated before its end. Throws GatewayError 400 for a wrong month, 409 while it
 * lasts or if it is part of a later one, StoreUnavailable.
 */
export async function closeMonth (
  store: Store, name: string, actor: Actor = gatewayActor
): Promise<{ month: ClosedMonth, isNew: boolean }> {
  const month = readMonth(name)
  const closed = await readClosedMonths(store.reports)
  const earlier = closed.find(one => one.name === name)
  if (earlier !== undefined) return { month: earlier, isNew: false }
  refuseWrongMonth(month, closed.at(-1), store.clock())

  const { seq: lastEntry, isStable } = await findLastEntry(store)
  if (!isStable) throw new StoreUnavailable(new Error('A transaction does not end'), { problem: 'slow' })
  const closing = randomUUID()
  await writeSums(store, closing, await sumEntriesBefore(store, { closed, lastEntry }, month.endsAt))
  const { endsAt } = month
  const closedAt = store.clock()
  return await record(store, { name, endsAt, lastEntry, closedAt, actor: actor.id, closing }, actor)
}

function refuseWrongMonth ({ name, endsAt }: Month, last: ClosedMonth | undefined, nowMs: number): void {
  if (endsAt > nowMs) throw conflict('month_not_over', `The month ${name} is not over.`)
  if (last !== undefined && endsAt < last.endsAt) {
    throw conflict('month_closed', `The month ${name} was closed with ${last.name}.`)
  }
}

function conflict (code: string, message: string): GatewayError {
  return new GatewayError(409, 'invalid_request_error', message, { param: 'month', code })
}

/** Nothing reads them before the month names them as its own. */
async function writeSums (store: Store, closing: string, sums: SumsByAccount): Promise<void> {
  const table = createJsonRows<Row>(store.engine, { account: 'text', line: 'text', amount: 'bigint' })
  const rows: Row[] = []
  for (const [account, lines] of sums) {
    for (const row of toRows(account, lines)) rows.push({ ...row })
  }
  for (let first = 0; first < rows.length; first += rowsAtOnce) {
    await store.run(`
      insert into closing_sum (closing, account, line, amount)
      select $2, account, line, amount from ${table.sql} as given where true`,
    [table.parameter(rows.slice(first, first + rowsAtOnce)), closing])
  }
}

interface Row extends Record<string, Value> { account: string, line: string, amount: number }

async function record (
  store: Store, month: ClosedMonth, actor: Actor
): Promise<{ month: ClosedMonth, isNew: boolean }> {
  const { name, endsAt, lastEntry, closedAt, closing } = month
  const isNew = await store.transaction(async queries => {
    const inserted = await queries.run(`
      insert into closed_month (month, ends_at, last_entry, closed_at, actor, closing)
      select $1, cast($2 as bigint), cast($3 as bigint), cast($4 as bigint), $5, $6
      where not exists (select 1 from closed_month where ends_at >= cast($2 as bigint))
      on conflict do nothing`, [name, endsAt, lastEntry, closedAt, actor.id, closing])
    if (inserted === 0) return false
    const after = { last_entry: entryId(lastEntry) }
    const change = { action: 'books.close', target: `books:${name}`, after, at: closedAt }
    await recordChange(queries, { actor, ...change })
    return true
  })
  if (isNew) return { month, isNew }
  const other = (await readClosedMonths(store.reports)).find(one => one.endsAt >= endsAt)
  if (other?.name === name) return { month: other, isNew }
  throw conflict('month_closed', `The month ${name} was closed with ${other?.name}.`)
}
