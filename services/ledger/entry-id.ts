/**
 * The id of an entry, by which operators quote it: `entry_<number>` for usage and suspense, where the number
 * is its place in the table; for deposits, refunds and adjustments, the id that their caller chose. Entries
 * are never changed or deleted, so an id always means the same row, and it needs no column or index beyond
 * those that are there anyway.
 */
const prefix = 'entry_'
const ownKinds = "('usage', 'suspense')"

/** Returns the SQL expression for the id of an entry. */
export function entryIdSql (table = 'entry'): string {
  return `case when ${table}.kind in ${ownKinds} then '${prefix}' || ${table}.seq else ${table}.idempotency_key end`
}

/** Returns the id of the usage or suspense entry with this `seq`. */
export function entryId (seq: number): string {
  return `${prefix}${seq}`
}

/** Returns the SQL condition that finds an entry by its id, and its two parameters, `$1` and `$2`. */
export function whereEntryId (id: string): { condition: string, params: [seq: number, id: string] } {
  const [, digits = '0'] = /^entry_([1-9]\d{0,14})$/.exec(id) ?? []
  const condition = `(entry.seq = $1 and entry.kind in ${ownKinds} or
    entry.idempotency_key = $2 and entry.kind not in ${ownKinds})`
  return { condition, params: [Number(digits), id] }
}
