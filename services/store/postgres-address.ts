import type { ClientConfig } from 'pg'
import { columnTypes } from './postgres-values.ts'

/** The address of a Postgres server, and its parameters for Tollgate. */
export interface PostgresAddress { config: ClientConfig, connections: number, statementTimeoutMs: number }

/** No statement of a request takes seconds; a slow one would delay all others. */
const defaults = { connections: 10, connectTimeoutS: 3, statementTimeoutMs: 2_500 }
const most = { connections: 1_000, connectTimeoutS: 300, statementTimeoutMs: 24 * 3_600_000 }
const keepAliveAfterMs = 10_000
/** After the server's timeout, the client waits this much longer before it drops a connection. */
const responseTimeoutMs = 500
/** After this time, a process that hangs in a transaction loses its locks. */
const idleInTransactionTimeoutMs = 5_000

/**
 * Reads a `postgres://` address. Its query may hold `pool` (connections), `connect_timeout` (seconds),
 * `statement_timeout` (milliseconds) and the usual parameters such as `sslmode`. Throws an Error that does
 * not repeat the address.
 */
export function readPostgresAddress (url: string): PostgresAddress {
  const [base = '', query = ''] = url.split(/\?(.*)/s)
  const hosts = base.split('/')[2]?.split('@').at(-1) ?? ''
  if (hosts.includes(',')) {
    throw new Error('The database address has several hosts; give one that always leads to the primary')
  }
  const params = new URLSearchParams(query)
  const take = (name: string, of: keyof typeof defaults) => takeNumber(params, name, defaults[of], most[of])
  const connections = take('pool', 'connections')
  const connectTimeoutS = take('connect_timeout', 'connectTimeoutS')
  const statementTimeoutMs = take('statement_timeout', 'statementTimeoutMs')
  return {
    connections,
    statementTimeoutMs,
    config: {
      connectionString: params.size === 0 ? base : `${base}?${params}`,
      fallback_application_name: 'tollgate',
      connectionTimeoutMillis: connectTimeoutS * 1_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveAfterMs,
      types: columnTypes
    }
  }
}

/** The client's timeout of statements, for a server that does not respond at all. */
export function clientLimits (timeoutMs: number): ClientConfig {
  return { query_timeout: timeoutMs + responseTimeoutMs }
}

/** The server's timeouts as parameters, which a pooler may reject at the start of a connection. */
export function serverLimits (timeoutMs: number, lockMs = lockTimeoutMs): Record<string, number> {
  return {
    statement_timeout: timeoutMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs
  }
}

/** The statements that set parameters, for the session or for the transaction that has begun. */
export function settingStatements (parameters: Record<string, number>, scope: 'session' | 'local'): string {
  return Object.entries(parameters).map(([name, value]) => `set ${scope} ${name} = ${value}`).join('; ')
}

/**
 * How long a statement waits for a lock, in ms, before its transaction is retried after a pause. Transactions
 * that wait for one row then neither lock others for long nor use up all connections.
 */
export const lockTimeoutMs = 200

function takeNumber (params: URLSearchParams, name: string, otherwise: number, max: number): number {
  const text = params.get(name)
  params.delete(name)
  if (text === null) return otherwise
  const value = Number(text)
  if (/^\d{1,9}$/.test(text) && value >= 1 && value <= max) return value
  throw new Error(`In the database address, \`${name}\` must be a whole number from 1 to ${max}`)
}
