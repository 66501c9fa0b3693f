import type { Store, Value } from './store.ts'

/**
 * Rows that a statement takes as its first parameter. They are one JSON text whatever their number, so the
 * statement stays the same and prepared, and no engine's limit on parameters is met.
 */
export interface Table<Row extends Record<string, Value>> {
  /** What stands in a `from` clause, to be given a name there. */
  readonly sql: string
  parameter (rows: readonly Row[]): string
}

/**
 * Describes rows by their columns, for one engine: what unpacks JSON is all that the two do not share. Each
 * gets the form that it unpacks fastest.
 */
export function createTable<Row extends Record<string, Value>> (
  engine: Store['engine'], columns: Record<keyof Row & string, 'text' | 'bigint'>
): Table<Row> {
  const names = Object.keys(columns)
  if (engine === 'sqlite') {
    const unpacked = names.map((name, index) => `value ->> ${index} as ${name}`)
    return {
      sql: `(select ${unpacked.join(', ')} from json_each($1))`,
      parameter: (rows) => JSON.stringify(rows.map((row) => names.map((name) => row[name])))
    }
  }
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  return {
    sql: `(select * from json_to_recordset($1::json) as unpacked (${typed.join(', ')}))`,
    parameter: (rows) => JSON.stringify(rows)
  }
}

/** Describes ids that a statement takes as its first parameter, as `createTable` does rows. */
export function createIdTable (
  engine: Store['engine']
): { readonly sql: string, parameter (ids: Iterable<string>): string } {
  const { sql, parameter } = createTable<{ id: string }>(engine, { id: 'text' })
  return { sql, parameter: (ids) => parameter(Array.from(ids, (id) => ({ id }))) }
}
