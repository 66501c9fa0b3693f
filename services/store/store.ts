/** A value of a column. Integers are JavaScript safe integers; times are integer milliseconds. */
export type Value = string | number | null

/**
 * Statements with `$1`, `$2`, … placeholders, the same text on every engine. Unsafe integers throw
 * RangeError, in both directions; invalid values and violated constraints throw the engine's own error. All
 * other errors are StoreUnavailable.
 */
export interface Queries {
  all<Row>(sql: string, params?: readonly Value[]): Promise<Row[]>
  get<Row>(sql: string, params?: readonly Value[]): Promise<Row | undefined>
  /** Returns the number of rows changed. */
  run(sql: string, params?: readonly Value[]): Promise<number>
}

/** Queries that also run several statements at once. */
export interface ScriptQueries extends Queries {
  script (sql: string): Promise<void>
}

/**
 * Reads that may take seconds: on SQLite a thread with a read-only connection of its own, on Postgres a few
 * connections of their own. Each statement sees one snapshot of what is committed. Methods throw
 * StoreUnavailable, also when the read takes too long or too many wait.
 */
export type Reports = Pick<Queries, 'all' | 'get'>

/**
 * The database. Methods throw StoreUnavailable; a statement or commit during which the connection was lost
 * may have taken effect, so every change is idempotent.
 */
export interface Store extends Queries {
  readonly engine: 'sqlite' | 'postgres'
  /** Every read whose time grows with the number of rows goes here, so that no request waits for it. */
  readonly reports: Reports
  /**
   * Milliseconds since 1970 by the database's clock, without a query: nodes agree on it however wrong the
   * clocks of their machines are. In SQL it is `now_ms()`, which decides who is dead and what has expired.
   */
  readonly clock: () => number
  /**
   * Commits when `work` returns, rolls back when it throws or one of its statements failed. On Postgres
   * others run concurrently (READ COMMITTED): lock a row with an update before deciding on what it says.
   * `work` is retried after a serialization failure, a deadlock or the timeout of a lock, so its only effects
   * must be those of `queries`.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * Why no work may begin: on SQLite, the file was deleted, moved or replaced. What was begun can still be
   * written, to the file that is open. Null or absent: there is no reason.
   */
  readonly lost?: StoreUnavailable | null
  close(): Promise<void>
}

const problems = {
  unreachable: 'The database cannot be reached.',
  unusable: 'The database cannot be used.',
  readOnly: 'The database cannot be written.',
  full: 'The disk of the database is full.',
  damaged: 'The database is damaged.',
  refused: 'The database refused a statement.',
  busy: 'Another process keeps the database locked.',
  locked: 'Another transaction keeps rows locked.',
  slow: 'The database did not answer in time.',
  crowded: 'Too many reports are waiting.',
  misplaced: 'The database file was deleted or replaced.'
}

/** Why the database cannot be used. */
export type StoreProblem = keyof typeof problems

/** The database cannot be used, reached or did not answer: a 503 for the client, never a 401. */
export class StoreUnavailable extends Error {
  readonly problem: StoreProblem

  /** The problem is that of the cause by default. */
  constructor (cause: unknown, { problem = problemOf(cause), message = problems[problem] }: {
    problem?: StoreProblem, message?: string
  } = {}) {
    super(message, { cause })
    this.name = 'StoreUnavailable'
    this.problem = problem
  }
}

function problemOf (cause: unknown): StoreProblem {
  return cause instanceof StoreUnavailable ? cause.problem : 'unreachable'
}

/** The error of a statement that comes after its transaction. */
export function transactionEnded (): Error {
  return new Error('The transaction has ended: await every statement within it.')
}
