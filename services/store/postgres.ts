import type { Log } from '../shared/log.ts'
import { retry } from '../shared/timers.ts'
import type { MigrationPolicy } from './migrations.ts'
import { lockTimeoutMs, readPostgresAddress, type PostgresAddress } from './postgres-address.ts'
import { startPostgresClock, type PostgresClock } from './postgres-clock.ts'
import { conflictOf } from './postgres-errors.ts'
import { createConnectionPool, type ConnectionPool } from './postgres-pool.ts'
import { preparePostgres } from './postgres-start.ts'
import { StoreUnavailable, type Queries, type Store, type Value } from './store.ts'

/** How long to wait at start-up for a server that cannot be reached. */
const defaultStartTimeoutMs = 30_000
const maxAttempts = 10
const maxBackoffMs = 20
/** Enough for an operator and the hourly check: reports cannot use up the connections of requests. */
const reportConnections = 2
const reportTimeoutMs = 30_000

interface PostgresOptions { log: Log, startTimeoutMs?: number, migrations?: MigrationPolicy }

/**
 * Opens and migrates the Postgres database at `url`. Throws StoreUnavailable if it stays unreachable, an
 * Error if the address is invalid, the server rejects the connection or a newer version has written the
 * database.
 */
export async function openPostgres (
  url: string, { log, startTimeoutMs = defaultStartTimeoutMs, migrations = 'apply' }: PostgresOptions
): Promise<Store> {
  const address = readPostgresAddress(url)
  const { sharesSessions } = await preparePostgres(address, { log, timeoutMs: startTimeoutMs, migrations })
  const pool = createConnectionPool(address, { log, sharesSessions })
  const reports = createConnectionPool(addressOfReports(address), { log, sharesSessions })
  const queries = createQueries(pool)
  const clock = await startClock(pool, () => readClock(queries), log)
  return {
    engine: 'postgres',
    clock: clock.read,
    ...queries,
    reports: createQueries(reports),
    transaction: (work) => withRetries(() => pool.transaction(work)),
    close: async () => { await Promise.all([clock.stop(), pool.close(), reports.close()]) }
  }
}

/** Migrates the database at `url`, and returns the names of the migrations. Throws as `openPostgres`. */
export async function migratePostgres (url: string, log: Log): Promise<string[]> {
  const options = { log, timeoutMs: defaultStartTimeoutMs, migrations: 'apply' } as const
  return (await preparePostgres(readPostgresAddress(url), options)).migrated
}

function addressOfReports (address: PostgresAddress): PostgresAddress {
  // The connection timeout also bounds how long a report waits for others.
  const config = {
    ...address.config, fallback_application_name: 'tollgate reports', connectionTimeoutMillis: reportTimeoutMs
  }
  return { config, connections: reportConnections, statementTimeoutMs: reportTimeoutMs }
}

function createQueries (pool: ConnectionPool): Queries {
  const query = <T>(call: (queries: Queries) => Promise<T>) => withRetries(() => pool.statement(call))
  return {
    all: <Row>(sql: string, params?: readonly Value[]) => query((queries) => queries.all<Row>(sql, params)),
    get: <Row>(sql: string, params?: readonly Value[]) => query((queries) => queries.get<Row>(sql, params)),
    run: (sql, params) => query((queries) => queries.run(sql, params))
  }
}

async function startClock (
  pool: ConnectionPool, readServerMs: () => Promise<number>, log: Log
): Promise<PostgresClock> {
  try {
    return await startPostgresClock({ readServerMs, log })
  } catch (error) {
    await pool.close()
    throw error
  }
}

async function readClock (queries: Queries): Promise<number> {
  const row = await queries.get<{ now: number }>('select now_ms() as now')
  return row?.now ?? NaN
}

/** Retries after conflicts with other transactions. Throws StoreUnavailable when it never succeeds. */
async function withRetries<T> (attempt: () => Promise<T>): Promise<T> {
  return await retry(attempt, (error, attempts) => {
    const conflict = conflictOf(error)
    if (conflict === null) throw error
    const isLocked = conflict === 'locked'
    if (attempts === maxAttempts) throw new StoreUnavailable(error, isLocked ? { problem: 'locked' } : {})
    return isLocked ? lockTimeoutMs * (0.5 + Math.random()) : Math.random() * maxBackoffMs * attempts
  })
}
