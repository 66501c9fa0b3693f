import type { Queries, Value } from './store.ts'

/** Each number of rows needs a statement of its own. */
const rowsPerStatement = 128

/** `add` pushes a row's values in the order of the columns, which is faster than looking them up. */
interface RowPart<Row> {
  columns: readonly (keyof Row & string)[]
  add (row: Row, values: Value[]): void
}

export interface RowInsert<Row> extends RowPart<Row> {
  /** Columns in which many rows are alike, whose values are then bound once. */
  shared?: RowPart<Row> & { areAlike (one: Row, other: Row): boolean }
  /** Columns that are the same in all rows: literals of the statement. */
  constants?: Readonly<Record<string, Value>>
  ending?: string
}

/**
 * Returns a function that inserts rows into a SQLite table and resolves with how many were new. Several
 * statements cost less than unpacking rows from JSON.
 */
export function createRowInsert<Row> (
  table: string, { columns, add, shared = none, constants = {}, ending = '' }: RowInsert<Row>
): (queries: Pick<Queries, 'run'>, rows: readonly Row[]) => Promise<number> {
  const names = [...shared.columns, ...columns, ...Object.keys(constants)].join(', ')
  const literals = Object.values(constants).map(value => `, ${toLiteral(value)}`).join('')
  const tuple = (length: number) => `(${Array(length).fill('?').join(', ')})`
  const times = (count: number, text: string) => Array(count).fill(text).join(', ')

  // Spares SQLite a statement journal: a failed statement rolls its transaction back in any case.
  const insert = `insert or rollback into ${table}`
  const texts: Record<'alike' | 'unlike', (count: number) => string> = {
    alike: memoizeByCount(count => `${insert} (${names})
      select ${'?, '.repeat(shared.columns.length)}own.*${literals}
      from (values ${times(count, tuple(columns.length))}) as own where true ${ending}`),
    unlike: memoizeByCount(count => `${insert} (${names})
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

function memoizeByCount (textFor: (count: number) => string): (count: number) => string {
  const texts: string[] = []
  return count => {
    texts[count] ??= textFor(count)
    return texts[count]
  }
}

function toLiteral (value: Value): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}
