import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { connect, patiently } from './sqlite-connection.ts'
import type { Connection } from './sqlite-connection.ts'
import { migrate } from './migrations.ts'
import type { ScriptQueries } from './migrations.ts'
import { transactionEnded } from './run-work.ts'
import type { Store, Value } from './store.ts'
import { createTurns } from './write-lock.ts'
import type { Turns } from './write-lock.ts'

const defaults = { busyTimeoutMs: 5_000 }
const maxWaitingWrites = 10_000

/**
 * Opens the SQLite database at `path`, creating folder, file and tables where they are missing; `:memory:`
 * keeps everything in this process. Locks held by other processes are waited for during `busyTimeoutMs`.
 * Throws StoreUnavailable when the file cannot be used, an Error when a newer version has written it.
 *
 * Two connections, because a transaction is asynchronous and a connection has only one: all writing takes
 * turns on `writer`, so no statement slips into somebody else's transaction; plain reads go on meanwhile on
 * `reader`, which sees the last commit (WAL). A database in memory belongs to its one connection, so there
 * reads take turns as well.
 */
export async function openSqlite (path: string, { busyTimeoutMs } = defaults): Promise<Store> {
  const inMemory = path === ':memory:'
  if (!inMemory) await mkdir(dirname(path), { recursive: true })
  const writer = await patiently(() => connect(path), busyTimeoutMs)
  try {
    await inTransaction(writer, busyTimeoutMs, (queries) => migrate('sqlite', queries))
    const reader = inMemory ? null : await patiently(() => connect(path, { readOnly: true }), busyTimeoutMs)
    return createStore(writer, reader, busyTimeoutMs)
  } catch (error) {
    writer.close()
    throw error
  }
}

function createStore (writer: Connection, reader: Connection | null, busyTimeoutMs: number): Store {
  const turns = createTurns({ maxWaitMs: busyTimeoutMs, maxWaiting: maxWaitingWrites })
  const write = <T>(statement: () => T) => turns.take(() => patiently(statement, busyTimeoutMs))

  // The reader is opened read-only, so a statement taken for a read by mistake fails and never writes out of
  // turn.
  const query = <T>(sql: string, ask: (connection: Connection) => T): Promise<T> =>
    reader === null || isWriting(sql)
      ? write(() => ask(writer))
      : patiently(() => ask(reader), busyTimeoutMs)

  return {
    engine: 'sqlite',
    all: <Row>(sql: string, params?: readonly Value[]) => query(sql, (from) => from.all<Row>(sql, params)),
    get: <Row>(sql: string, params?: readonly Value[]) => query(sql, (from) => from.get<Row>(sql, params)),
    run: (sql, params) => write(() => writer.run(sql, params)),
    transaction: (work) => turns.take(() => inTransaction(writer, busyTimeoutMs, work)),
    close: () => closeInTurn(turns, writer, reader)
  }
}

/** Only a `returning` clause makes a writing statement give rows, in the SQL that both engines share. */
function isWriting (sql: string): boolean {
  return /\breturning\b/i.test(sql)
}

async function closeInTurn (turns: Turns, writer: Connection, reader: Connection | null): Promise<void> {
  await turns.take(() => {
    reader?.close()
    writer.close()
  })
}

/**
 * IMMEDIATE takes the write lock at the start: a transaction that has read never fails for having read old
 * rows.
 */
async function inTransaction<T> (
  connection: Connection, busyTimeoutMs: number, work: (queries: ScriptQueries) => Promise<T>
): Promise<T> {
  await patiently(() => connection.run('begin immediate'), busyTimeoutMs)
  const statements = new Statements(connection)
  try {
    const result = await work(statements)
    statements.assertWell()
    connection.run('commit')
    return result
  } catch (error) {
    // SQLite has already rolled back by itself after a full disk or a failed write, and where the statement
    // said so.
    if (connection.inTransaction()) connection.script('rollback')
    throw error
  } finally {
    statements.isOver = true
  }
}

/**
 * The statements of one transaction, each carried out in the call. As on Postgres, nothing is done after a
 * failure; nor after the end, where it would belong to another transaction.
 */
class Statements implements ScriptQueries {
  isOver = false
  readonly #connection: Connection
  #failure: { error: unknown } | null = null

  constructor (connection: Connection) {
    this.#connection = connection
  }

  async all<Row> (sql: string, params?: readonly Value[]): Promise<Row[]> {
    return this.#carryOut(() => this.#connection.all<Row>(sql, params))
  }

  async get<Row> (sql: string, params?: readonly Value[]): Promise<Row | undefined> {
    return this.#carryOut(() => this.#connection.get<Row>(sql, params))
  }

  async run (sql: string, params?: readonly Value[]): Promise<number> {
    return this.#carryOut(() => this.#connection.run(sql, params))
  }

  async script (sql: string): Promise<void> {
    this.#carryOut(() => this.#connection.script(sql))
  }

  /** Throws what the first statement to fail threw. */
  assertWell (): void {
    if (this.#failure !== null) throw this.#failure.error
  }

  #carryOut<T> (statement: () => T): T {
    if (this.isOver) throw transactionEnded()
    this.assertWell()
    try {
      return statement()
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }
}
