/** A value of a column. Integers are JavaScript safe integers; times are integer milliseconds. */
export type Value = string | number | null

/** Statements with `$1`, `$2`, … placeholders, the same text on every engine. */
export interface Queries {
  all<Row>(sql: string, params?: readonly Value[]): Promise<Row[]>
  get<Row>(sql: string, params?: readonly Value[]): Promise<Row | undefined>
  /** Returns how many rows were changed. */
  run(sql: string, params?: readonly Value[]): Promise<number>
}

/**
 * The one place where accounts, keys, entries and jobs live. Methods throw StoreUnavailable when it cannot be
 * asked.
 */
export interface Store extends Queries {
  readonly engine: 'sqlite' | 'postgres'
  /** Runs `work` in one transaction: commits when it returns, rolls back when it throws. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** The database cannot be reached or did not answer; always a 503 for the client, never a 401. */
export class StoreUnavailable extends Error {
  constructor (cause: unknown) {
    super('The database cannot be reached.', { cause })
    this.name = 'StoreUnavailable'
  }
}
