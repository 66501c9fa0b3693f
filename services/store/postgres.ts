import type { Log } from '../shared/log.ts'
import { retry } from '../shared/timers.ts'
import { readPostgresAddress } from './postgres-address.ts'
import { inTransaction } from './postgres-connection.ts'
import { isRetryable } from './postgres-errors.ts'
import { createConnectionPool } from './postgres-pool.ts'
import { preparePostgres } from './postgres-start.ts'
import { StoreUnavailable, type Queries, type Store, type Value } from './store.ts'

/** How long to wait at start-up for a server that cannot be reached. */
const defaultStartTimeoutMs = 30_000
const maxAttempts = 10
const maxBackoffMs = 20

/**
 * Opens and migrates the Postgres database at `url`. Throws StoreUnavailable if it stays unreachable, an
 * Error if the address is invalid, the server refuses the connection or a newer version has written the
 * database.
 */
export async function openPostgres (
  url: string, { log, startTimeoutMs = defaultStartTimeoutMs }: { log: Log, startTimeoutMs?: number }
): Promise<Store> {
  const address = readPostgresAddress(url)
  await preparePostgres(address, { log, timeoutMs: startTimeoutMs })
  const pool = createConnectionPool(address, log)
  const query = <T>(ask: (queries: Queries) => Promise<T>) => withRetries(() => pool.use(ask))
  return {
    engine: 'postgres',
    all: <Row>(sql: string, params?: readonly Value[]) => query((queries) => queries.all<Row>(sql, params)),
    get: <Row>(sql: string, params?: readonly Value[]) => query((queries) => queries.get<Row>(sql, params)),
    run: (sql, params) => query((queries) => queries.run(sql, params)),
    transaction: (work) => withRetries(() => pool.use((connection) => inTransaction(connection, work))),
    close: () => pool.close()
  }
}

/** Retries after conflicts with other transactions. Throws StoreUnavailable when it never succeeds. */
async function withRetries<T> (attempt: () => Promise<T>): Promise<T> {
  return await retry(attempt, (error, attempts) => {
    if (!isRetryable(error)) throw error
    if (attempts === maxAttempts) throw new StoreUnavailable(error)
    return Math.random() * maxBackoffMs * attempts
  })
}
