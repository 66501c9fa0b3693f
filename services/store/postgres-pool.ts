import { Pool } from 'pg'
import type { PoolClient } from 'pg'
import { statementLimits } from './postgres-address.ts'
import type { PostgresAddress } from './postgres-address.ts'
import { createConnection } from './postgres-connection.ts'
import type { Connection } from './postgres-connection.ts'
import { createStatementNames } from './postgres-statements.ts'
import { StoreUnavailable } from './store.ts'
import type { StoreLog } from './store.ts'

/** The connections of this process. */
export interface Connections {
  /**
   * Lends a connection to `work` alone. Throws StoreUnavailable when none is to be had, else what `work`
   * throws.
   */
  lend<T> (work: (connection: Connection) => Promise<T>): Promise<T>
  /** Waits for all that are lent. */
  close (): Promise<void>
}

const maxPrepared = 500
const maxWaiting = 10_000
const idleTimeoutMs = 30_000
/** So that a host name that points to another server is noticed. */
const maxLifetimeS = 3_600

/** Creates the connections to a server, made when they are needed and replaced when they are lost. */
export function createConnections (address: PostgresAddress, log: StoreLog): Connections {
  const names = createStatementNames(maxPrepared)
  const pool = new Pool({
    ...address.config,
    ...statementLimits(address.statementTimeoutMs),
    max: address.connections,
    idleTimeoutMillis: idleTimeoutMs,
    maxLifetimeSeconds: maxLifetimeS
  })
  pool.on('error', (err) => {
    if (!pool.ending) log.warn({ err }, 'an idle connection to Postgres was lost')
  })
  // Who borrows a connection hears of its loss from the statement under way or from the next one.
  pool.on('connect', (client) => client.on('error', () => {}))

  async function borrow (): Promise<PoolClient> {
    if (pool.waitingCount >= maxWaiting) throw new StoreUnavailable(new Error(`${maxWaiting} statements are waiting`))
    try {
      return await pool.connect()
    } catch (error) {
      throw new StoreUnavailable(error)
    }
  }

  return {
    async lend (work) {
      const client = await borrow()
      const connection = createConnection(client, names)
      try {
        return await work(connection)
      } finally {
        client.release(connection.isBroken())
      }
    },

    async close () {
      if (!pool.ending) await pool.end()
    }
  }
}
