import type { ClientBase, QueryConfig, QueryResult } from 'pg'
import type { ScriptQueries } from './migrations.ts'
import { isFaultOfDatabase, isStaleStatement } from './postgres-errors.ts'
import type { StatementNames } from './postgres-statements.ts'
import { toParameter } from './postgres-values.ts'
import { runWork } from './run-work.ts'
import { StoreUnavailable } from './store.ts'
import type { Queries, Value } from './store.ts'

/** One connection. Its methods throw StoreUnavailable, Postgres' own errors or RangeError. */
export interface Connection extends ScriptQueries {
  /** Whether it failed in a way after which nothing more can be asked of it. */
  isBroken (): boolean
}

/** Speaks to Postgres over a client that is connected, preparing each statement once. */
export function createConnection (client: ClientBase, names: StatementNames): Connection {
  let broken = false

  async function send (query: QueryConfig): Promise<QueryResult> {
    try {
      return await client.query(query)
    } catch (error) {
      if (query.name !== undefined && isStaleStatement(error)) names.replace(query.text, query.name)
      if (!isFaultOfDatabase(error)) throw error
      broken = true
      throw new StoreUnavailable(error)
    }
  }

  async function ask (sql: string, params: readonly Value[] = []): Promise<QueryResult> {
    return await send({ name: names.nameOf(sql), text: sql, values: params.map(toParameter) })
  }

  return {
    // What the columns hold is known to the writer of the SQL alone, who names it as Row.
    all: async <Row>(sql: string, params?: readonly Value[]) => (await ask(sql, params)).rows as Row[],
    get: async <Row>(sql: string, params?: readonly Value[]) =>
      (await ask(sql, params)).rows[0] as Row | undefined,
    run: async (sql, params) => (await ask(sql, params)).rowCount ?? 0,
    script: async (sql) => { await send({ text: sql }) },
    isBroken: () => broken
  }
}

/** Runs `work` between begin and commit; a connection that breaks is rolled back by the server. */
export async function inTransaction<T> (
  connection: Connection, work: (queries: Queries) => Promise<T>
): Promise<T> {
  await connection.script('begin')
  try {
    const result = await runWork(connection, work)
    await connection.script('commit')
    return result
  } catch (error) {
    if (!connection.isBroken()) await connection.script('rollback')
    throw error
  }
}
