import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Log } from '../shared/log.ts'
import { retry } from '../shared/timers.ts'
import { buildIndexes } from './index-builds.ts'
import { migrate, recordMigration, type IndexMigration, type MigrationPolicy } from './migrations.ts'
import { clientLimits, serverLimits, settingStatements, type PostgresAddress } from './postgres-address.ts'
import {
  createPostgresConnection, inTransaction, createStatementNames, type PostgresConnection
} from './postgres-connection.ts'
import { isTransient, reasonOf } from './postgres-errors.ts'
import { StoreUnavailable } from './store.ts'

const retryMs = 500
/** Includes waiting for another process that migrates. */
const migrationTimeoutMs = 10 * 60_000
/** Time limit of one index build; it waits for every transaction that was open when it began. */
const indexTimeoutMs = 6 * 3_600_000
/** A migration waits for locks until its time limit. */
const beginMigration = `begin; ${settingStatements(serverLimits(migrationTimeoutMs, 0), 'local')}`
/** Arbitrary keys for the advisory locks. */
const migrationLock = 8_655_742_953
const buildLock = 8_655_742_954

/** The result of the start: applied migrations and the kind of connection. */
interface Prepared {
  /** The names of the migrations. */
  migrated: string[]
  /** Whether a pooler gives each transaction any free session (PgBouncer's transaction mode). */
  sharesSessions: boolean
}

/**
 * Migrates a database, its tables in one process at a time. Throws StoreUnavailable if it is unreachable for
 * `timeoutMs`, an Error if it rejects the connection or cannot be migrated.
 */
export async function preparePostgres (
  address: PostgresAddress,
  { log, timeoutMs, migrations }: { log: Log, timeoutMs: number, migrations: MigrationPolicy }
): Promise<Prepared> {
  const deadline = performance.now() + timeoutMs
  let client: Client
  const prepared = await retry(() => {
    client = createClient(address, migrationTimeoutMs)
    return prepareOver(client, address, migrations)
  }, (error, attempts) => {
    if (!(error instanceof StoreUnavailable) || error.problem === 'refused') throw error
    const message = `Postgres at ${client.host}:${client.port} cannot be reached: ${reasonOf(error.cause)}`
    if (performance.now() + retryMs > deadline) throw new StoreUnavailable(error.cause, { message })
    if (attempts === 1) log.warn({ timeoutMs }, `${message}; trying again`)
    return retryMs
  })
  const { migrated, sharesSessions } = prepared
  if (migrated.length > 0) log.info({ migrations: migrated }, 'the database was migrated')
  if (sharesSessions) log.info({}, 'a pooler shares the sessions of Postgres; statements are not prepared')
  return prepared
}

function createClient (address: PostgresAddress, timeoutMs: number): Client {
  try {
    const client = new Client({ ...address.config, ...clientLimits(timeoutMs) })
    // The current statement fails with the same error.
    client.on('error', () => {})
    return client
  } catch (error) {
    if (error instanceof Error && 'path' in error) {
      throw new Error(`A file that the database address names cannot be read: ${error.message}`)
    }
    // The error itself may repeat the address, with its password.
    throw new Error('The database address is not of the form postgres://user:password@host:port/database')
  }
}

async function prepareOver (
  client: Client, address: PostgresAddress, migrations: MigrationPolicy
): Promise<Prepared> {
  const migrated: string[] = []
  try {
    await connect(client)
    const connection = createPostgresConnection(client, createStatementNames(0))
    const sharesSessions = await areSessionsShared(connection, address)
    for (;;) {
      const { names, indexes } = await inTransaction(connection, async () => {
        await connection.get('select pg_advisory_xact_lock($1)', [migrationLock])
        return await migrate('postgres', connection, migrations)
      }, beginMigration)
      migrated.push(...names)
      if (indexes === null) return { migrated, sharesSessions }
      if (await addIndexes(connection, address, sharesSessions, indexes)) migrated.push(indexes.name)
      else await sleep(retryMs)
    }
  } finally {
    await client.end()
  }
}

/** Number of tests, because a pooler may give each connection its own session by chance. */
const sessionChecks = 3

/**
 * Whether another connection gets the session of this one, or this one gets another session while its own is
 * taken. Neither happens if each connection has its own session.
 */
async function areSessionsShared (
  connection: PostgresConnection, address: PostgresAddress
): Promise<boolean> {
  const client = createClient(address, address.statementTimeoutMs)
  try {
    await connect(client)
    const other = createPostgresConnection(client, createStatementNames(0))
    for (let checks = 0; checks < sessionChecks; checks++) {
      const before = await sessionOf(connection)
      const isShared = await inTransaction(other, async () =>
        await sessionOf(other) === before || await sessionOf(connection) !== before)
      if (isShared) return true
    }
    return false
  } finally {
    await client.end()
  }
}

async function sessionOf (connection: PostgresConnection): Promise<number | undefined> {
  return (await connection.get<{ pid: number }>('select pg_backend_pid() as pid'))?.pid
}

/**
 * Builds the indexes of a migration while others write, over a connection of its own; false if another node
 * is building. A build waits until every older snapshot has ended: a node that waits for the lock in SQL
 * would have one; a transaction that only holds the lock has none.
 */
async function addIndexes (
  connection: PostgresConnection, address: PostgresAddress, sharesSessions: boolean,
  { id, name, builds }: IndexMigration
): Promise<boolean> {
  return await inTransaction(connection, async () => {
    const lock = await connection.get<{ taken: number }>(
      'select pg_try_advisory_xact_lock($1) as taken', [buildLock])
    if (lock?.taken !== 1) return false
    // A simple statement also closes the portal of the previous one, which kept its snapshot.
    await connection.script('set local idle_in_transaction_session_timeout = 0')
    const client = createClient(address, indexTimeoutMs)
    try {
      await connect(client)
      const builder = createPostgresConnection(client, createStatementNames(0))
      // Set for a shared session, it would then apply to others.
      if (!sharesSessions) await builder.script(`set statement_timeout = ${indexTimeoutMs}`)
      await buildIndexes(builder, builds)
    } finally {
      await client.end()
    }
    await recordMigration(connection, { id, name })
    return true
  }, beginMigration)
}

async function connect (client: Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    if (isTransient(error)) throw new StoreUnavailable(error)
    throw new Error(`Postgres at ${client.host}:${client.port} refuses: ${reasonOf(error)}`, { cause: error })
  }
}
