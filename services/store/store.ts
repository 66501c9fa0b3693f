/** A value of a column. Integers are JavaScript safe integers; times are integer milliseconds. */
export type Value = string | number | null

/**
 * Statements with `$1`, `$2`, … placeholders, the same text on every engine. An integer outside the safe ones
 * is refused with RangeError, in both directions; a statement that is wrong or breaks a constraint throws the
 * engine's own error.
 */
export interface Queries {
  all<Row>(sql: string, params?: readonly Value[]): Promise<Row[]>
  get<Row>(sql: string, params?: readonly Value[]): Promise<Row | undefined>
  /** Returns how many rows were changed. */
  run(sql: string, params?: readonly Value[]): Promise<number>
}

/**
 * The one place where accounts, keys, entries and jobs live. Methods throw StoreUnavailable when it cannot be
 * asked. A statement or commit during which the connection was lost may nevertheless have been carried out:
 * what changes something carries an id that makes repeating it harmless.
 */
export interface Store extends Queries {
  readonly engine: 'sqlite' | 'postgres'
  /**
   * Runs `work` in one transaction: commits when it returns, rolls back when it throws or when one of its
   * statements failed, even if `work` caught that. Others run at the same time on Postgres: what is read to
   * decide a change has to be locked by a change first. `work` is run again after losing against another
   * transaction, so it leaves no traces but through `queries`.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Where an engine tells the operator what no caller hears of. */
export interface StoreLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** The database cannot be reached or did not answer; always a 503 for the client, never a 401. */
export class StoreUnavailable extends Error {
  constructor (cause: unknown, message = 'The database cannot be reached.') {
    super(message, { cause })
    this.name = 'StoreUnavailable'
  }
}
