import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { migrate, type ScriptQueries } from './migrations.ts'
import { connect, retryWhileBusy, type SqliteConnection } from './sqlite-connection.ts'
import { transactionEnded, type Store, type Value } from './store.ts'
import { createWriteLock } from './write-lock.ts'

const maxWaitingWrites = 10_000

/**
 * Opens the SQLite database at `path`, creating what is missing; `:memory:` keeps everything in this process.
 * Throws StoreUnavailable when the file cannot be used, an Error when a newer version has written it.
 * Transactions are asynchronous and a connection has one at a time: writes take the write lock and run on
 * `writer`, so no statement ends up in another's transaction; reads run on `reader`, which sees the last
 * commit (WAL). A database in memory has only the writer.
 */
export async function openSqlite (path: string, { busyTimeoutMs = 5_000 } = {}): Promise<Store> {
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

  // A write returns rows only by a `returning` clause. The reader is read-only, so a mistake fails.
  const query = <T>(sql: string, ask: (connection: SqliteConnection) => T): Promise<T> =>
    reader === null || /\breturning\b/i.test(sql)
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

/**
 * Runs `work` under a lock taken at the start (IMMEDIATE), so that it never fails because it has read old
 * rows. As on Postgres, statements are rejected after a failure, and after the end.
 */
async function inTransaction<T> (
  connection: SqliteConnection, busyTimeoutMs: number, work: (queries: ScriptQueries) => Promise<T>
): Promise<T> {
  await retryWhileBusy(() => connection.run('begin immediate'), busyTimeoutMs)
  const failures: unknown[] = []
  let isOver = false

  async function execute<Result> (statement: () => Result): Promise<Result> {
    if (isOver) throw transactionEnded()
    if (failures.length > 0) throw failures[0]
    try {
      return statement()
    } catch (error) {
      failures.push(error)
      throw error
    }
  }

  try {
    const result = await work({
      all: <Row>(sql: string, params?: readonly Value[]) => execute(() => connection.all<Row>(sql, params)),
      get: <Row>(sql: string, params?: readonly Value[]) => execute(() => connection.get<Row>(sql, params)),
      run: (sql, params) => execute(() => connection.run(sql, params)),
      script: (sql) => execute(() => connection.script(sql))
    })
    if (failures.length > 0) throw failures[0]
    connection.run('commit')
    return result
  } catch (error) {
    // SQLite has rolled back already after a full disk, a failed write or `or rollback`.
    if (connection.inTransaction()) connection.script('rollback')
    throw error
  } finally {
    isOver = true
  }
}
