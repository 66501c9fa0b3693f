import type { Queries, Value } from './store.ts'

/** Enough to make up for what a statement itself costs; each number of rows is a statement of its own. */
const rowsPerStatement = 25

export interface RowInsertOptions {
  /** Columns that are the same in all rows: they stand in the statement, where they cost least. */
  constants?: Readonly<Record<string, Value>>
  /** Follows the values. */
  ending?: string
}

/**
 * Returns what inserts rows into a table of SQLite and resolves with how many there are new. In this process
 * several statements cost less than what it takes to unpack the rows from JSON. `valuesOf` gives the values
 * of a row in the order of the columns; written out, that takes half as long as to look them up by name.
 */
export function createRowInsert<Row> (
  table: string, columns: readonly (keyof Row & string)[], valuesOf: (row: Row) => readonly Value[],
  { constants = {}, ending = '' }: RowInsertOptions = {}
): (queries: Pick<Queries, 'run'>, rows: readonly Row[]) => Promise<number> {
  const statements: string[] = []
  const names = [...columns, ...Object.keys(constants)].join(', ')
  const row = [...columns.map(() => '?'), ...Object.values(constants).map(toLiteral)].join(', ')

  function statementFor (count: number): string {
    statements[count] ??=
      `insert into ${table} (${names}) values ${Array.from({ length: count }, () => `(${row})`).join(', ')} ${ending}`
    return statements[count]
  }

  return async (queries, rows) => {
    let inserted = 0
    for (let from = 0; from < rows.length; from += rowsPerStatement) {
      const values: Value[] = []
      const to = Math.min(rows.length, from + rowsPerStatement)
      for (const row of rows.slice(from, to)) values.push(...valuesOf(row))
      inserted += await queries.run(statementFor(to - from), values)
    }
    return inserted
  }
}

function toLiteral (value: Value): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}
