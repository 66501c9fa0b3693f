import { Pool, type PoolClient } from 'pg'
import { lockTimeoutMs, statementLimits, type PostgresAddress } from './postgres-address.ts'
import { createPostgresConnection, createStatementNames } from './postgres-connection.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import type { Log } from '../shared/log.ts'
import { StoreUnavailable } from './store.ts'

const maxPrepared = 500
const maxWaiting = 10_000
const idleTimeoutMs = 30_000
/** Lets a host name that now points to another server take effect. */
const maxLifetimeS = 3_600

export type ConnectionPool = ReturnType<typeof createConnectionPool>

/** Creates a pool that connects on demand and replaces lost connections. */
export function createConnectionPool (address: PostgresAddress, log: Log) {
  const names = createStatementNames(maxPrepared)
  const pool = new Pool({
    ...address.config,
    ...statementLimits(address.statementTimeoutMs),
    lock_timeout: lockTimeoutMs,
    max: address.connections,
    idleTimeoutMillis: idleTimeoutMs,
    maxLifetimeSeconds: maxLifetimeS
  })
  pool.on('error', (err) => {
    if (!pool.ending) log.warn({ err }, 'an idle connection to Postgres was lost')
  })
  // A loss shows in the current statement, or in the next one.
  pool.on('connect', (client) => client.on('error', () => {}))

  async function acquire (): Promise<PoolClient> {
    if (pool.waitingCount >= maxWaiting) throw new StoreUnavailable(new Error(`${maxWaiting} statements are waiting`))
    try {
      return await pool.connect()
    } catch (error) {
      throw new StoreUnavailable(error)
    }
  }

  return {
    /** Throws StoreUnavailable if no connection is available, else what `work` throws. */
    async use<T> (work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
      const client = await acquire()
      const connection = createPostgresConnection(client, names)
      try {
        return await work(connection)
      } finally {
        client.release(connection.isBroken())
      }
    },

    async close (): Promise<void> {
      if (!pool.ending) await pool.end()
    }
  }
}
