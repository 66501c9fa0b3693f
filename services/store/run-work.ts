import type { Queries } from './store.ts'

/**
 * Runs the work of one transaction that has begun, its statements one at a time. When it returns or throws,
 * none of them is under way, and later ones are refused: they would belong to another transaction. Throws
 * what `work` throws, else what the first statement to fail threw.
 */
export async function runWork<T> (statements: Queries, work: (queries: Queries) => Promise<T>): Promise<T> {
  const failures: unknown[] = []
  let last: Promise<unknown> = Promise.resolve()
  let ended = false

  async function inTurn<R> (statement: () => Promise<R>): Promise<R> {
    if (ended) throw transactionEnded()
    const result = last.then(() => {
      // Postgres refuses everything between a failure and the rollback, so no engine lets it pass.
      if (failures.length > 0) throw failures[0]
      return statement()
    })
    last = result.catch((error: unknown) => { failures.push(error) })
    return await result
  }

  let result: T
  try {
    result = await work({
      all: (sql, params) => inTurn(() => statements.all(sql, params)),
      get: (sql, params) => inTurn(() => statements.get(sql, params)),
      run: (sql, params) => inTurn(() => statements.run(sql, params))
    })
  } finally {
    ended = true
    await last
  }
  if (failures.length > 0) throw failures[0]
  return result
}

/** What a statement meets that comes after its transaction. */
export function transactionEnded (): Error {
  return new Error('The transaction has ended: await every statement within it.')
}
