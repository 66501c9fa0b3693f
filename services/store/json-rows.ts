import type { Store, Value } from './store.ts'

/**
 * Describes rows by their columns, in the JSON form that the engine unpacks fastest. Any number of rows is
 * one text, the first parameter of a statement: it stays prepared, and no limit on parameters applies.
 */
export function createJsonRows<Row extends Record<string, Value>> (
  engine: Store['engine'], columns: Record<keyof Row & string, 'text' | 'bigint'>
): { readonly sql: string, parameter (rows: readonly Row[]): string } {
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

/** Describes a list of ids, as `createJsonRows` does. */
export function createJsonIds (
  engine: Store['engine']
): { readonly sql: string, parameter (ids: Iterable<string>): string } {
  const { sql, parameter } = createJsonRows<{ id: string }>(engine, { id: 'text' })
  return { sql, parameter: (ids) => parameter(Array.from(ids, (id) => ({ id }))) }
}
