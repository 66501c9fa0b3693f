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
 * Reads that may take seconds: on SQLite in a thread with a read-only connection, on Postgres on a few
 * separate connections. Each statement sees one snapshot of the committed data. Methods throw
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
   * Milliseconds since 1970 by the database's clock, without a query: nodes agree on it even if their
   * machines' clocks are wrong. In SQL it is `now_ms()`, which decides on dead nodes and expiry.
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
   * Why no work may begin, if the SQLite file was deleted, moved or replaced; work that has begun can still
   * be written to the open file. Null or absent otherwise.
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
  refused: 'The database rejected a statement.',
  busy: 'Another process keeps the database locked.',
  locked: 'Another transaction keeps rows locked.',
  slow: 'The database did not respond in time.',
  crowded: 'Too many reports are waiting.',
  misplaced: 'The database file was deleted or replaced.'
}

/** Why the database cannot be used. */
export type StoreProblem = keyof typeof problems

/** The database cannot be used, cannot be reached or did not respond: a 503 for the client, never a 401. */
export class StoreUnavailable extends Error {
  readonly problem: StoreProblem

  /** By default, the problem is taken from the cause. */
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

/** The error of a statement after the end of its transaction. */
export function transactionEnded (): Error {
  return new Error('The transaction has ended: await every statement within it.')
}
