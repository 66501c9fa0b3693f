/**
 * The id of an entry: `entry_<seq>` for usage and suspense, else the id its caller chose. Entries are never
 * changed or deleted, so an id always means the same row, without a column or index of its own.
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
