import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Log } from '../shared/log.ts'
import { retry } from '../shared/timers.ts'
import { buildIndexes } from './index-builds.ts'
import { migrate, recordMigration, type IndexMigration, type MigrationPolicy } from './migrations.ts'
import { statementLimits, type PostgresAddress } from './postgres-address.ts'
import {
  createPostgresConnection, inTransaction, createStatementNames, type PostgresConnection
} from './postgres-connection.ts'
import { isUnavailable, reasonOf } from './postgres-errors.ts'
import { StoreUnavailable } from './store.ts'

const retryMs = 500
/** Includes waiting for another process that migrates. */
const migrationTimeoutMs = 10 * 60_000
/** Of one index; it waits for every transaction that was open when it began. */
const indexTimeoutMs = 6 * 3_600_000
/** Arbitrary keys for the advisory locks. */
const migrationLock = 8_655_742_953
const buildLock = 8_655_742_954

/**
 * Migrates a database, its tables in one process at a time, and returns the names of the migrations. Throws
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
    client = createClient(address, migrationTimeoutMs)
    return migrateOver(client, address, migrations)
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

function createClient (address: PostgresAddress, timeoutMs: number): Client {
  try {
    const client = new Client({ ...address.config, ...statementLimits(timeoutMs) })
    // The current statement fails with the same error.
    client.on('error', () => {})
    return client
  } catch {
    // The error itself may repeat the address, with its password.
    throw new Error('The database address is not of the form postgres://user:password@host:port/database')
  }
}

async function migrateOver (
  client: Client, address: PostgresAddress, migrations: MigrationPolicy
): Promise<string[]> {
  const applied: string[] = []
  try {
    await connect(client)
    const connection = createPostgresConnection(client, createStatementNames(0))
    for (;;) {
      const { names, indexes } = await inTransaction(connection, async () => {
        await connection.get('select pg_advisory_xact_lock($1)', [migrationLock])
        return await migrate('postgres', connection, migrations)
      })
      applied.push(...names)
      if (indexes === null) return applied
      if (await addIndexes(connection, address, indexes)) applied.push(indexes.name)
      else await sleep(retryMs)
    }
  } finally {
    await client.end()
  }
}

/**
 * Builds the indexes of a migration while others write, over a connection of its own; false if another node
 * is building. A build waits until every older snapshot has ended: a node that waits for the lock in SQL
 * would have one, while a transaction that only keeps the lock has none.
 */
async function addIndexes (
  connection: PostgresConnection, address: PostgresAddress, { id, name, builds }: IndexMigration
): Promise<boolean> {
  return await inTransaction(connection, async () => {
    const lock = await connection.get<{ taken: number }>(
      'select pg_try_advisory_xact_lock($1) as taken', [buildLock])
    if (lock?.taken !== 1) return false
    // A simple statement also closes the portal of the one before, which has kept its snapshot.
    await connection.script('set local idle_in_transaction_session_timeout = 0')
    const client = createClient(address, indexTimeoutMs)
    try {
      await connect(client)
      await buildIndexes(createPostgresConnection(client, createStatementNames(0)), builds)
    } finally {
      await client.end()
    }
    await recordMigration(connection, { id, name })
    return true
  })
}

async function connect (client: Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    if (isUnavailable(error)) throw new StoreUnavailable(error)
    throw new Error(`Postgres at ${client.host}:${client.port} refuses: ${reasonOf(error)}`, { cause: error })
  }
}
