import { Client } from 'pg'
import type { Log } from '../shared/log.ts'
import { retry } from '../shared/timers.ts'
import { migrate, type MigrationPolicy } from './migrations.ts'
import { statementLimits, type PostgresAddress } from './postgres-address.ts'
import { createPostgresConnection, inTransaction, createStatementNames } from './postgres-connection.ts'
import { isUnavailable, reasonOf } from './postgres-errors.ts'
import { StoreUnavailable } from './store.ts'

const retryMs = 500
/** Includes waiting for another process that migrates. */
const migrationTimeoutMs = 10 * 60_000
/** An arbitrary key for the advisory lock. */
const migrationLock = 8_655_742_953

/**
 * Migrates a database, in one process at a time, and returns the names of the migrations. Throws
 * StoreUnavailable if it is unreachable for `timeoutMs`, an Error if it refuses the connection or cannot be
 * migrated.
 */
export async function preparePostgres (
  address: PostgresAddress,
  { log, timeoutMs, migrations }: { log: Log, timeoutMs: number, migrations: MigrationPolicy }
): Promise<string[]> {
  const deadline = performance.now() + timeoutMs
  let client: Client
  const migrated = await retry(() => {
    client = createClient(address)
    return migrateOver(client, migrations)
  }, (error, attempts) => {
    if (!(error instanceof StoreUnavailable)) throw error
    const message = `Postgres at ${client.host}:${client.port} cannot be reached: ${reasonOf(error.cause)}`
    if (performance.now() + retryMs > deadline) throw new StoreUnavailable(error.cause, { message })
    if (attempts === 1) log.warn({ timeoutMs }, `${message}; trying again`)
    return retryMs
  })
  if (migrated.length > 0) log.info({ migrations: migrated }, 'the database was migrated')
  return migrated
}

function createClient (address: PostgresAddress): Client {
  try {
    const client = new Client({ ...address.config, ...statementLimits(migrationTimeoutMs) })
    // The current statement fails with the same error.
    client.on('error', () => {})
    return client
  } catch {
    // The error itself may repeat the address, with its password.
    throw new Error('The database address is not of the form postgres://user:password@host:port/database')
  }
}

async function migrateOver (client: Client, migrations: MigrationPolicy): Promise<string[]> {
  try {
    await connect(client)
    const connection = createPostgresConnection(client, createStatementNames(0))
    return await inTransaction(connection, async () => {
      await connection.get('select pg_advisory_xact_lock($1)', [migrationLock])
      return await migrate('postgres', connection, migrations)
    })
  } finally {
    await client.end()
  }
}

async function connect (client: Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    if (isUnavailable(error)) throw new StoreUnavailable(error)
    throw new Error(`Postgres at ${client.host}:${client.port} refuses: ${reasonOf(error)}`, { cause: error })
  }
}
