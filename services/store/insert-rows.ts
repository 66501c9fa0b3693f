import type { Queries, Value } from './store.ts'

/** Enough to make up for what a statement itself costs; each number of rows is a statement of its own. */
const rowsPerStatement = 128

/** Columns of a table, and what adds the values of a row in their order; to look them up takes longer. */
export interface RowPart<Row> {
  columns: readonly (keyof Row & string)[]
  add (row: Row, values: Value[]): void
}

export interface RowInsert<Row> extends RowPart<Row> {
  /** Columns in which many rows are alike: where all rows of a statement are, they are given once. */
  shared?: RowPart<Row> & { areAlike (one: Row, other: Row): boolean }
  /** Columns that are the same in all rows: they stand in the statement, where they cost least. */
  constants?: Readonly<Record<string, Value>>
  /** Follows the values. */
  ending?: string
}

/**
 * Returns what inserts rows into a table of SQLite and resolves with how many there are new. In this process
 * several statements cost less than what it takes to unpack the rows from JSON, and a good part of them is to
 * hand over value by value.
 */
export function createRowInsert<Row> (
  table: string, { columns, add, shared = none, constants = {}, ending = '' }: RowInsert<Row>
): (queries: Pick<Queries, 'run'>, rows: readonly Row[]) => Promise<number> {
  const names = [...shared.columns, ...columns, ...Object.keys(constants)].join(', ')
  const literals = Object.values(constants).map(value => `, ${toLiteral(value)}`).join('')
  const tuple = (length: number) => `(${Array(length).fill('?').join(', ')})`
  const times = (count: number, text: string) => Array(count).fill(text).join(', ')

  // Where a statement fails, all of its transaction is rolled back in any case; one that does it by itself
  // keeps nothing by which to undo it alone.
  const insert = `insert or rollback into ${table}`
  const texts: Record<'alike' | 'unlike', (count: number) => string> = {
    alike: remembered(count => `${insert} (${names})
      select ${'?, '.repeat(shared.columns.length)}own.*${literals}
      from (values ${times(count, tuple(columns.length))}) as own where true ${ending}`),
    unlike: remembered(count => `${insert} (${names})
      select *${literals} from (values ${times(count, tuple(shared.columns.length + columns.length))})
      where true ${ending}`)
  }

  return async (queries, rows) => {
    let inserted = 0
    for (let from = 0; from < rows.length; from += rowsPerStatement) {
      const some = rows.slice(from, from + rowsPerStatement)
      const [first] = some
      const areAlike = first !== undefined && some.every(row => shared.areAlike(first, row))
      const values: Value[] = []
      if (areAlike) shared.add(first, values)
      for (const row of some) {
        if (!areAlike) shared.add(row, values)
        add(row, values)
      }
      inserted += await queries.run(texts[areAlike ? 'alike' : 'unlike'](some.length), values)
    }
    return inserted
  }
}

const none = { columns: [], add () {}, areAlike: () => false }

function remembered (textFor: (count: number) => string): (count: number) => string {
  const texts: string[] = []
  return count => {
    texts[count] ??= textFor(count)
    return texts[count]
  }
}

function toLiteral (value: Value): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}
