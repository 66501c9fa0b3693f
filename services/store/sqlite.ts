import { processWarnings, type Log } from '../shared/log.ts'
import { migrate, type MigrationPolicy } from './migrations.ts'
import { connect, retryWhileBusy, type SqliteConnection } from './sqlite-connection.ts'
import { prepareFiles, unusableFile } from './sqlite-files.ts'
import { watchPlace, type PlaceWatch } from './sqlite-place.ts'
import { createReportThread, type ReportLimits, type ReportThread } from './sqlite-reports.ts'
import {
  StoreUnavailable, transactionEnded, type Reports, type ScriptQueries, type Store, type Value
} from './store.ts'

const maxWaitingWrites = 10_000
const defaultReportLimits: ReportLimits = { timeoutMs: 30_000, maxWaiting: 100 }
const defaultBusyTimeoutMs = 5_000

interface SqliteOptions {
  log?: Log
  busyTimeoutMs?: number
  reportLimits?: ReportLimits
  migrations?: MigrationPolicy
  clock?: () => number
}

/**
 * Opens the SQLite database at `path`, creating missing parts; `:memory:` keeps everything in this process.
 * Throws StoreUnavailable when the file cannot be used, an Error when a newer version has written it.
 * Transactions are asynchronous and a connection has one at a time: writes take the write lock and run on
 * `writer`, so no statement ends up in another's transaction; reads run on `reader`, which sees the last
 * commit (WAL). Reports have a thread of their own. A database in memory has only the writer. `clock` is the
 * database's clock.
 */
export async function openSqlite (path: string, options: SqliteOptions = {}): Promise<Store> {
  const { busyTimeoutMs = defaultBusyTimeoutMs, clock = Date.now, log = processWarnings } = options
  const inMemory = path === ':memory:'
  const { writer } = await openMigrated(path, options)
  try {
    const openReader = () => connect(path, { readOnly: true, clock })
    const reader = inMemory ? null : await retryWhileBusy(openReader, busyTimeoutMs)
    const reports = inMemory ? null : createReportThread(path, options.reportLimits ?? defaultReportLimits)
    const place = inMemory ? null : watchPlace(path, { log })
    return createStore({ writer, reader, reports, place, busyTimeoutMs, clock })
  } catch (error) {
    writer.close()
    throw unusableFile(path, error)
  }
}

/** Migrates the SQLite database at `path`; returns the names of the migrations. Throws as `openSqlite`. */
export async function migrateSqlite (path: string): Promise<string[]> {
  const { writer, migrated } = await openMigrated(path, {})
  writer.close()
  return migrated
}

async function openMigrated (
  path: string, {
    busyTimeoutMs = defaultBusyTimeoutMs, migrations = 'apply', clock =
    Date.now
  }: SqliteOptions
): Promise<{ writer: SqliteConnection, migrated: string[] }> {
  let writer: SqliteConnection | undefined
  try {
    if (path !== ':memory:') await prepareFiles(path)
    const opened = await retryWhileBusy(() => connect(path, { clock }), busyTimeoutMs)
    writer = opened
    const migrated = await inTransaction(opened, busyTimeoutMs, async queries => {
      const { names } = await migrate('sqlite', queries, migrations)
      // An unwritable database fails now and not at the first request.
      await queries.run('update migration set name = name where id = 1')
      return names
    })
    return { writer: opened, migrated }
  } catch (error) {
    writer?.close()
    throw unusableFile(path, error)
  }
}

interface StoreParts {
  writer: SqliteConnection
  reader: SqliteConnection | null
  reports: ReportThread | null
  place: PlaceWatch | null
  busyTimeoutMs: number
  clock: () => number
}

function createStore ({ writer, reader, reports, place, busyTimeoutMs, clock }: StoreParts): Store {
  const lock = createWriteLock({ maxWaitMs: busyTimeoutMs, maxWaiting: maxWaitingWrites })
  const write = <T>(statement: () => T) => lock.run(() => retryWhileBusy(statement, busyTimeoutMs))

  // A write returns rows only by a `returning` clause. The reader is read-only, so a mistake fails.
  const query = <T>(sql: string, call: (connection: SqliteConnection) => T): Promise<T> =>
    reader === null || /\breturning\b/i.test(sql)
      ? write(() => call(writer))
      : retryWhileBusy(() => call(reader), busyTimeoutMs)

  const queries: Reports = {
    all: <Row>(sql: string, params?: readonly Value[]) => query(sql, (from) => from.all<Row>(sql, params)),
    get: <Row>(sql: string, params?: readonly Value[]) => query(sql, (from) => from.get<Row>(sql, params))
  }

  return {
    engine: 'sqlite',
    clock,
    reports: reports ?? queries,
    ...queries,
    run: (sql, params) => write(() => writer.run(sql, params)),
    transaction: (work) => lock.run(() => inTransaction(writer, busyTimeoutMs, work)),
    get lost () { return place?.lost ?? null },
    async close () {
      await place?.stop()
      await reports?.close()
      await lock.run(() => {
        reader?.close()
        writer.close()
      })
    }
  }
}

/**
 * Runs `work` under a lock taken at the start (IMMEDIATE), so that it never fails because it has read old
 * rows. As on Postgres, statements are rejected after a failure and after the end.
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

/** Longest sequence of work before other events get their turn. */
const maxTurnMs = 10

/**
 * Creates a lock that runs one piece of work at a time, first come, first served. A long sequence of work
 * yields to other events, which awaiting SQLite's synchronous statements does not. Throws
 * StoreUnavailable when it is not free within `maxWaitMs` or `maxWaiting` wait; the timeout also ends the
 * deadlock of work that waits for the lock it holds.
 */
export function createWriteLock ({ maxWaitMs, maxWaiting }: { maxWaitMs: number, maxWaiting: number }) {
  const waiting = new Set<() => void>()
  let taken = false
  /** When work began in this turn of the event loop. */
  let turnMs: number | null = null

  function wait (): Promise<void> {
    if (waiting.size >= maxWaiting) throw new StoreUnavailable(new Error(`${maxWaiting} statements are waiting`))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const begin = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.delete(begin)
      reject(new StoreUnavailable(new Error(`The write lock was not free within ${maxWaitMs} ms`)))
    }, maxWaitMs)
    waiting.add(begin)
    return promise
  }

  /** The lock is handed over directly, so that newcomers cannot overtake. */
  function passOn (): void {
    const [next] = waiting
    if (next === undefined) {
      taken = false
    } else {
      waiting.delete(next)
      next()
    }
  }

  function beginTurn (): void {
    if (turnMs !== null) return
    turnMs = performance.now()
    setImmediate(() => { turnMs = null })
  }

  function isTurnOver (): boolean {
    return turnMs !== null && performance.now() - turnMs > maxTurnMs
  }

  return {
    async run<T> (work: () => T | Promise<T>): Promise<T> {
      if (taken) await wait()
      taken = true
      beginTurn()
      try {
        return await work()
      } finally {
        if (isTurnOver()) setImmediate(passOn)
        else passOn()
      }
    }
  }
}
