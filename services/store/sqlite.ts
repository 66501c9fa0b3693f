import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { migrate, type ScriptQueries } from './migrations.ts'
import { connect, retryWhileBusy, type SqliteConnection } from './sqlite-connection.ts'
import { transactionEnded, type Store, type Value } from './store.ts'
import { createWriteLock } from './write-lock.ts'

const defaults = { busyTimeoutMs: 5_000 }
const maxWaitingWrites = 10_000

/**
 * Opens the SQLite database at `path`, creating what is missing; `:memory:` keeps everything in this process.
 * Throws StoreUnavailable when the file cannot be used, an Error when a newer version has written it.
 * Transactions are asynchronous and a connection has one at a time: writes take the write lock and run on
 * `writer`, so no statement ends up in another's transaction; reads run on `reader`, which sees the last
 * commit (WAL). A database in memory has only the writer.
 */
export async function openSqlite (path: string, { busyTimeoutMs } = defaults): Promise<Store> {
  const inMemory = path === ':memory:'
  if (!inMemory) await mkdir(dirname(path), { recursive: true })
  const writer = await retryWhileBusy(() => connect(path), busyTimeoutMs)
  try {
    await inTransaction(writer, busyTimeoutMs, (queries) => migrate('sqlite', queries))
    const openReader = () => connect(path, { readOnly: true })
    const reader = inMemory ? null : await retryWhileBusy(openReader, busyTimeoutMs)
    return createStore(writer, reader, busyTimeoutMs)
  } catch (error) {
    writer.close()
    throw error
  }
}

function createStore (
  writer: SqliteConnection, reader: SqliteConnection | null, busyTimeoutMs: number
): Store {
  const lock = createWriteLock({ maxWaitMs: busyTimeoutMs, maxWaiting: maxWaitingWrites })
  const write = <T>(statement: () => T) => lock.run(() => retryWhileBusy(statement, busyTimeoutMs))

  // The reader is read-only, so a write mistaken for a read fails.
  const query = <T>(sql: string, ask: (connection: SqliteConnection) => T): Promise<T> =>
    reader === null || isWriting(sql)
      ? write(() => ask(writer))
      : retryWhileBusy(() => ask(reader), busyTimeoutMs)

  return {
    engine: 'sqlite',
    all: <Row>(sql: string, params?: readonly Value[]) => query(sql, (from) => from.all<Row>(sql, params)),
    get: <Row>(sql: string, params?: readonly Value[]) => query(sql, (from) => from.get<Row>(sql, params)),
    run: (sql, params) => write(() => writer.run(sql, params)),
    transaction: (work) => lock.run(() => inTransaction(writer, busyTimeoutMs, work)),
    close: () => lock.run(() => {
      reader?.close()
      writer.close()
    })
  }
}

/** In this SQL, a write returns rows only by a `returning` clause. */
function isWriting (sql: string): boolean {
  return /\breturning\b/i.test(sql)
}

/** IMMEDIATE locks at the start, so a transaction never fails because it has read old rows. */
async function inTransaction<T> (
  connection: SqliteConnection, busyTimeoutMs: number, work: (queries: ScriptQueries) => Promise<T>
): Promise<T> {
  await retryWhileBusy(() => connection.run('begin immediate'), busyTimeoutMs)
  const statements = new Statements(connection)
  try {
    const result = await work(statements)
    statements.assertNoFailure()
    connection.run('commit')
    return result
  } catch (error) {
    // SQLite has rolled back already after a full disk, a failed write or `or rollback`.
    if (connection.inTransaction()) connection.script('rollback')
    throw error
  } finally {
    statements.isOver = true
  }
}

/**
 * The statements of one transaction: as on Postgres, rejected after a failure, and after the end, as they
 * would belong to another transaction.
 */
class Statements implements ScriptQueries {
  isOver = false
  readonly #connection: SqliteConnection
  #failure: { error: unknown } | null = null

  constructor (connection: SqliteConnection) {
    this.#connection = connection
  }

  async all<Row> (sql: string, params?: readonly Value[]): Promise<Row[]> {
    return this.#execute(() => this.#connection.all<Row>(sql, params))
  }

  async get<Row> (sql: string, params?: readonly Value[]): Promise<Row | undefined> {
    return this.#execute(() => this.#connection.get<Row>(sql, params))
  }

  async run (sql: string, params?: readonly Value[]): Promise<number> {
    return this.#execute(() => this.#connection.run(sql, params))
  }

  async script (sql: string): Promise<void> {
    this.#execute(() => this.#connection.script(sql))
  }

  assertNoFailure (): void {
    if (this.#failure !== null) throw this.#failure.error
  }

  #execute<T> (statement: () => T): T {
    if (this.isOver) throw transactionEnded()
    this.assertNoFailure()
    try {
      return statement()
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }
}
