import { setTimeout as sleep } from 'node:timers/promises'
import { readPostgresAddress } from './postgres-address.ts'
import { inTransaction } from './postgres-connection.ts'
import { isWorthRepeating } from './postgres-errors.ts'
import { createConnections } from './postgres-pool.ts'
import type { Connections } from './postgres-pool.ts'
import { preparePostgres } from './postgres-start.ts'
import { StoreUnavailable } from './store.ts'
import type { Queries, Store, StoreLog, Value } from './store.ts'

export interface PostgresOptions {
  log: StoreLog
  /** How long to wait at the start for a server that cannot be reached. */
  startTimeoutMs?: number
}

const defaultStartTimeoutMs = 30_000
const maxAttempts = 10
const maxPauseMs = 20

/**
 * Opens the Postgres database at `url`, see `readPostgresAddress`, and creates the tables that are missing.
 * A server that cannot be reached is waited for, so that it may be started at the same time. Throws
 * StoreUnavailable when it has not come in time, an Error when the address is wrong, the server refuses the
 * connection or a newer version has written the database.
 *
 * Transactions run at once under READ COMMITTED: a statement sees what was committed before it began, and
 * one that changes a row waits for whoever changed it first.
 */
export async function openPostgres (url: string, options: PostgresOptions): Promise<Store> {
  const { log, startTimeoutMs = defaultStartTimeoutMs } = options
  const address = readPostgresAddress(url)
  await preparePostgres(address, { log, timeoutMs: startTimeoutMs })
  return createStore(createConnections(address, log))
}

function createStore (connections: Connections): Store {
  const query = <T>(ask: (queries: Queries) => Promise<T>) => repeatedly(() => connections.lend(ask))
  return {
    engine: 'postgres',
    all: <Row>(sql: string, params?: readonly Value[]) => query((queries) => queries.all<Row>(sql, params)),
    get: <Row>(sql: string, params?: readonly Value[]) => query((queries) => queries.get<Row>(sql, params)),
    run: (sql, params) => query((queries) => queries.run(sql, params)),
    transaction: (work) => repeatedly(() => connections.lend((lent) => inTransaction(lent, work))),
    close: () => connections.close()
  }
}

/**
 * Runs something again that was rolled back in favour of another transaction, after a short pause of random
 * length. Throws StoreUnavailable when it never gets through.
 */
async function repeatedly<T> (attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isWorthRepeating(error)) throw error
      if (attempts === maxAttempts) throw new StoreUnavailable(error)
    }
    await sleep(Math.random() * maxPauseMs * attempts)
  }
}
