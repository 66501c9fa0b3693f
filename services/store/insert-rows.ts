import type { Queries, Value } from './store.ts'

/** Enough to make up for what a statement itself costs; each number of rows is a statement of its own. */
const rowsPerStatement = 25

/**
 * Returns what inserts rows into a table of SQLite and resolves with how many there are new. In this process
 * several statements cost less than what it takes to unpack the rows from JSON. `ending` follows the values.
 */
export function createRowInsert<Row extends Record<string, Value>> (
  table: string, columns: readonly (keyof Row & string)[], ending = ''
): (queries: Pick<Queries, 'run'>, rows: readonly Row[]) => Promise<number> {
  const statements: string[] = []
  const placeholders = `(${columns.map(() => '?').join(', ')})`

  function statementFor (count: number): string {
    statements[count] ??= `insert into ${table} (${columns.join(', ')})
      values ${Array.from({ length: count }, () => placeholders).join(', ')} ${ending}`
    return statements[count]
  }

  return async (queries, rows) => {
    let inserted = 0
    for (let from = 0; from < rows.length; from += rowsPerStatement) {
      const values: Value[] = []
      const to = Math.min(rows.length, from + rowsPerStatement)
      for (const row of rows.slice(from, to)) for (const column of columns) values.push(row[column] ?? null)
      inserted += await queries.run(statementFor(to - from), values)
    }
    return inserted
  }
}
