/** A value of a column. Integers are JavaScript safe integers; times are integer milliseconds. */
export type Value = string | number | null

/**
 * Statements with `$1`, `$2`, … placeholders, the same text on every engine. Unsafe integers throw
 * RangeError, in both directions; an invalid statement or violated constraint throws the engine's own error.
 */
export interface Queries {
  all<Row>(sql: string, params?: readonly Value[]): Promise<Row[]>
  get<Row>(sql: string, params?: readonly Value[]): Promise<Row | undefined>
  /** Returns the number of rows changed. */
  run(sql: string, params?: readonly Value[]): Promise<number>
}

/**
 * The database. Methods throw StoreUnavailable; a statement or commit during which the connection was lost
 * may have taken effect, so every change is idempotent.
 */
export interface Store extends Queries {
  readonly engine: 'sqlite' | 'postgres'
  /**
   * Commits when `work` returns, rolls back when it throws or one of its statements failed. On Postgres
   * others run concurrently (READ COMMITTED): lock a row with an update before deciding on what it says.
   * `work` is retried after a serialization failure or deadlock, so its only effects must be those of
   * `queries`.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** The database cannot be reached or did not answer: a 503 for the client, never a 401. */
export class StoreUnavailable extends Error {
  constructor (cause: unknown, message = 'The database cannot be reached.') {
    super(message, { cause })
    this.name = 'StoreUnavailable'
  }
}

/** The error of a statement that comes after its transaction. */
export function transactionEnded (): Error {
  return new Error('The transaction has ended: await every statement within it.')
}
