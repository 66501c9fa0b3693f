import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { createLru } from '../shared/lru.ts'
import { retry } from '../shared/timers.ts'
import { StoreUnavailable, type Queries, type StoreProblem, type Value } from './store.ts'

const maxStatements = 500
/** SQLite's wait for a lock blocks the event loop, so `retryWhileBusy` does longer waits. */
const blockingTimeoutMs = 10

export type SqliteConnection = ReturnType<typeof connect>

/** Opens a connection. Its methods throw StoreUnavailable, SQLite's own errors or RangeError. */
export function connect (path: string, { readOnly = false, clock = Date.now } = {}) {
  const database = open(path, readOnly)
  /** The time of the current statement; SQLite calls the function once per occurrence. */
  let nowMs: bigint | null = null
  database.function('now_ms', { deterministic: true }, () => {
    nowMs ??= BigInt(clock())
    return nowMs
  })
  const statements = createLru<StatementSync>(maxStatements)

  function prepared (sql: string): StatementSync {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = prepare(database, sql)
    statements.set(sql, statement)
    return statement
  }

  /** Prepares the next statement. */
  function next (sql: string): StatementSync {
    nowMs = null
    return prepared(sql)
  }

  return {
    // Callers assert the row type; it cannot be checked here.
    all: <Row>(sql: string, params: readonly Value[] = []): Row[] =>
      attempt(() => next(sql).all(...toBindable(params)) as Row[]),
    get: <Row>(sql: string, params: readonly Value[] = []): Row | undefined =>
      attempt(() => next(sql).get(...toBindable(params)) as Row | undefined),
    run: (sql: string, params: readonly Value[] = []): number =>
      attempt(() => Number(next(sql).run(...toBindable(params)).changes)),
    /** Runs several statements. */
    script: (sql: string): void => attempt(() => {
      nowMs = null
      database.exec(sql)
    }),
    inTransaction: (): boolean => database.isOpen && database.isTransaction,
    close: (): void => {
      if (database.isOpen) database.close()
    }
  }
}

/** Retries for up to `waitMs` while another process holds the lock, without blocking the event loop. */
export async function retryWhileBusy<T> (statement: () => T, waitMs: number): Promise<T> {
  const deadline = performance.now() + waitMs
  return await retry(statement, error => {
    if (!isBusy(error) || performance.now() >= deadline) throw error
    return 5 + Math.random() * 20
  })
}

function open (path: string, readOnly: boolean): DatabaseSync {
  return attempt(() => {
    const database = new DatabaseSync(path, { readOnly, timeout: blockingTimeoutMs })
    try {
      if (!readOnly) database.exec(writerSettings)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

// synchronous = NORMAL in WAL mode: commits survive the death of the process; only a power failure may lose
// the last ones. recursive_triggers: otherwise `insert or replace` deletes rows without firing the trigger
// that forbids it.
const writerSettings = `
  pragma journal_mode = wal;
  pragma synchronous = normal;
  pragma foreign_keys = on;
  pragma recursive_triggers = on;
`

function prepare (database: DatabaseSync, sql: string): StatementSync {
  const text = sql.trim().replace(/\$(\d+)/g, '?$1')
  const statement = database.prepare(text)
  // SQLite compiles the first statement and silently ignores the rest.
  if (statement.sourceSQL.length < text.length) throw new Error(`More than one statement: ${sql}`)
  return statement
}

/** Integers are bound as bigint: node:sqlite binds numbers as floating point. */
function toBindable (values: readonly Value[]): SQLInputValue[] {
  const bindable: SQLInputValue[] = values.slice()
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (typeof value === 'number') bindable[index] = toNumeric(value)
  }
  return bindable
}

function toNumeric (value: number): number | bigint {
  if (Number.isSafeInteger(value)) return BigInt(value)
  if (Number.isInteger(value) || !Number.isFinite(value)) throw new RangeError(`Not a safe number: ${value}`)
  return value
}

function attempt<T> (work: () => T): T {
  try {
    return work()
  } catch (error) {
    const isClosed = error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
    const code = primaryCode(error)
    if (!isClosed && (code === 0 || rejectionCodes.has(code))) throw error
    throw new StoreUnavailable(error, { problem: isClosed ? 'unreachable' : sqliteProblems.get(code) ?? 'refused' })
  }
}

// Source: https://sqlite.org/rescode.html
const sqliteProblems = new Map<number, StoreProblem>([
  [5, 'busy'],
  [6, 'busy'], // locked
  [7, 'unusable'], // out of memory
  [8, 'readOnly'],
  [10, 'unusable'], // I/O error
  [11, 'damaged'],
  [13, 'full'],
  [14, 'unusable'], // cannot be opened
  [15, 'busy'], // locking protocol
  [26, 'damaged'] // not a database
])

/** Errors of values: too large, of the wrong type, or a violated constraint or trigger. */
const rejectionCodes = new Set([18, 19, 20])

function isBusy (error: unknown): boolean {
  return error instanceof StoreUnavailable && error.problem === 'busy'
}

function primaryCode (error: unknown): number {
  if (!(error instanceof Error) || !('errcode' in error)) return 0
  return typeof error.errcode === 'number' ? error.errcode & 0xff : 0
}

/** Each number of rows needs a separate statement. */
const rowsPerStatement = 128

/** `add` pushes a row's values in the order of the columns, which is faster than looking them up. */
interface RowPart<Row> {
  columns: readonly (keyof Row & string)[]
  add (row: Row, values: Value[]): void
}

export interface RowInsert<Row> extends RowPart<Row> {
  /** Columns with equal values in many rows, which are then bound once. */
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

  // Spares SQLite a statement journal: a failed statement rolls its transaction back anyway.
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
