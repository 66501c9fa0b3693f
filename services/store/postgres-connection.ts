import { hash } from 'node:crypto'
import type { ClientBase, QueryConfig, QueryResult } from 'pg'
import { isSilence, isStaleStatement, isUnavailable, postgresProblem } from './postgres-errors.ts'
import { toParameter } from './postgres-values.ts'
import { StoreUnavailable, transactionEnded, type Queries, type ScriptQueries, type Value } from './store.ts'

/** One connection. Its methods throw StoreUnavailable, Postgres' own errors or RangeError. */
export interface PostgresConnection extends ScriptQueries {
  isBroken (): boolean
}

/**
 * Wraps a connected client, preparing each statement once. Calls `onSilence` if the server does not respond.
 */
export function createPostgresConnection (
  client: ClientBase, names: StatementNames, onSilence = () => {}
): PostgresConnection {
  let broken = false

  async function send (query: QueryConfig): Promise<QueryResult> {
    try {
      return await client.query(query)
    } catch (error) {
      if (query.name !== undefined && isStaleStatement(error)) names.replace(query.text, query.name)
      if (!isUnavailable(error)) throw error
      if (isSilence(error)) onSilence()
      const problem = postgresProblem(error)
      broken ||= problem !== 'refused'
      throw new StoreUnavailable(error, { problem })
    }
  }

  async function query (sql: string, params: readonly Value[] = []): Promise<QueryResult> {
    return await send({ name: names.nameOf(sql), text: sql, values: params.map(toParameter) })
  }

  return {
    // Callers assert the row type; it cannot be checked here.
    all: async <Row>(sql: string, params?: readonly Value[]) => (await query(sql, params)).rows as Row[],
    get: async <Row>(sql: string, params?: readonly Value[]) =>
      (await query(sql, params)).rows[0] as Row | undefined,
    run: async (sql, params) => (await query(sql, params)).rowCount ?? 0,
    script: async (sql) => { await send({ text: sql }) },
    isBroken: () => broken
  }
}

/** Runs `work` between `begin`, which may also set parameters of the transaction, and commit. */
export async function inTransaction<T> (
  connection: PostgresConnection, work: (queries: Queries) => Promise<T>, begin = 'begin'
): Promise<T> {
  await connection.script(begin)
  try {
    const result = await runInOrder(connection, work)
    await connection.script('commit')
    return result
  } catch (error) {
    if (!connection.isBroken()) await connection.script('rollback')
    throw error
  }
}

type StatementNames = ReturnType<typeof createStatementNames>

/**
 * Creates the names under which at most `max` texts stay prepared. Names are never dropped, because
 * connections keep their statements; they are hashes of the text, because a pooler may share them between
 * processes.
 */
export function createStatementNames (max: number) {
  const names = new Map<string, { name: string, version: number }>()

  function assign (sql: string, version: number): string {
    const name = `${hash('sha256', sql).slice(0, 32)}_${version}`
    names.set(sql, { name, version })
    return name
  }

  return {
    /** Undefined beyond the first `max` texts, which are parsed each time. */
    nameOf (sql: string): string | undefined {
      const known = names.get(sql)
      if (known !== undefined) return known.name
      return names.size < max ? assign(sql, 1) : undefined
    },

    /** Renames a text if `name` is still its name, so that connections prepare it again. */
    replace (sql: string, name: string): void {
      const known = names.get(sql)
      if (known?.name === name) assign(sql, known.version + 1)
    }
  }
}

/**
 * Runs the statements of `work` one at a time. When it returns or throws, none is running, and later ones are
 * rejected, because they would belong to another transaction. Throws the error of `work`, else that of the
 * first failed statement.
 */
async function runInOrder<T> (statements: Queries, work: (queries: Queries) => Promise<T>): Promise<T> {
  const failures: unknown[] = []
  let last: Promise<unknown> = Promise.resolve()
  let ended = false

  async function enqueue<R> (statement: () => Promise<R>): Promise<R> {
    if (ended) throw transactionEnded()
    const result = last.then(() => {
      // Postgres rejects every statement between a failure and the rollback.
      if (failures.length > 0) throw failures[0]
      return statement()
    })
    last = result.catch((error: unknown) => { failures.push(error) })
    return await result
  }

  let result: T
  try {
    result = await work({
      all: (sql, params) => enqueue(() => statements.all(sql, params)),
      get: (sql, params) => enqueue(() => statements.get(sql, params)),
      run: (sql, params) => enqueue(() => statements.run(sql, params))
    })
  } finally {
    ended = true
    await last
  }
  if (failures.length > 0) throw failures[0]
  return result
}
