import { Socket } from 'node:net'
import { Pool, type PoolClient } from 'pg'
import { clientLimits, serverLimits, settingStatements, type PostgresAddress } from './postgres-address.ts'
import { createPostgresConnection, createStatementNames, inTransaction } from './postgres-connection.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import type { Log } from '../shared/log.ts'
import { StoreUnavailable, type Queries } from './store.ts'

const maxPrepared = 500
const maxWaiting = 10_000
const idleTimeoutMs = 30_000
/** Lets a host name that now points to another server take effect. */
const maxLifetimeS = 3_600

export type ConnectionPool = ReturnType<typeof createConnectionPool>

interface PoolOptions {
  log: Log
  /** Whether a pooler may run each transaction in another session, so that sessions keep no state. */
  sharesSessions: boolean
}

/** Creates a pool that connects on demand and replaces lost connections. */
export function createConnectionPool (address: PostgresAddress, { log, sharesSessions }: PoolOptions) {
  const names = createStatementNames(sharesSessions ? 0 : maxPrepared)
  const limits = serverLimits(address.statementTimeoutMs)
  const begin = sharesSessions ? `begin; ${settingStatements(limits, 'local')}` : 'begin'
  const sockets = new Set<Socket>()
  const pool = new Pool({
    ...address.config,
    ...clientLimits(address.statementTimeoutMs),
    stream: () => trackSocket(sockets),
    onConnect: async client => { if (!sharesSessions) await client.query(settingStatements(limits, 'session')) },
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

  /** If the server vanished silently, its other connections are dead too. */
  function destroyAll (): void {
    log.warn({ connections: sockets.size }, 'Postgres does not respond; all connections are replaced')
    for (const socket of sockets) if (!socket.connecting) socket.destroy(new Error('Postgres does not respond'))
  }

  async function use<T> (work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const client = await acquire()
    const connection = createPostgresConnection(client, names, destroyAll)
    try {
      return await work(connection)
    } finally {
      client.release(connection.isBroken())
    }
  }

  async function transaction<T> (work: (queries: Queries) => Promise<T>): Promise<T> {
    return await use(connection => inTransaction(connection, work, begin))
  }

  return {
    /** Throws StoreUnavailable if no connection is available, else what `work` throws. */
    transaction,
    /** Runs one statement; a transaction only sets its time limits. Throws as `transaction`. */
    statement: sharesSessions ? transaction : use,

    async close (): Promise<void> {
      if (!pool.ending) await pool.end()
    }
  }
}

function trackSocket (sockets: Set<Socket>): Socket {
  const socket = new Socket()
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
  return socket
}
