import type { ScriptQueries } from './store.ts'

/** An index, and the statement that builds it while others write. */
export interface IndexBuild { name: string, sql: string }

const statement = /^create (unique )?index (\w+) (on [^;]+)$/s

/**
 * Returns the indexes of a migration that creates only indexes, else none. Their statements are for Postgres
 * and run outside a transaction.
 */
export function indexesOf (sql: string): IndexBuild[] {
  const written = sql.split('\n').filter(line => !line.trimStart().startsWith('--')).join('\n')
  const statements = written.split(';').map(text => text.trim()).filter(text => text !== '')
  const builds = statements.flatMap((text): IndexBuild[] => {
    const [, unique = '', name = '', rest = ''] = statement.exec(text) ?? []
    return name === '' ? [] : [{ name, sql: `create ${unique}index concurrently if not exists ${name} ${rest}` }]
  })
  return builds.length === statements.length ? builds : []
}

/**
 * Builds indexes on Postgres while others write to their tables, on one node at a time. Removes and rebuilds
 * the remains of an interrupted build.
 */
export async function buildIndexes (queries: ScriptQueries, builds: readonly IndexBuild[]): Promise<void> {
  for (const { name, sql } of builds) {
    await queries.script(sql)
    if (await isValid(queries, name)) continue
    await queries.script(`drop index concurrently if exists ${name}`)
    await queries.script(sql)
  }
}

async function isValid ({ get }: ScriptQueries, name: string): Promise<boolean> {
  const row = await get<{ valid: number }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)', [name])
  return row?.valid === 1
}
