import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Queries, Store } from './store.ts'

export interface ScriptQueries extends Queries {
  script (sql: string): Promise<void>
}

/** One numbered file of migrations/, append-only once released; `sql` is its text for all engines. */
interface Migration { id: number, name: string, sql: string }

const folder = join(import.meta.dirname, 'migrations')

/** Whether an older database is migrated or refused; an empty one gets its tables in any case. */
export type MigrationPolicy = 'apply' | 'refuse'

/**
 * Applies the migrations that a database lacks and returns their names, in the caller's transaction and under
 * its lock. Throws an Error, before any change, when the database was written by a newer version, or by an
 * older one that is to be refused, or its history differs.
 */
export async function migrate (
  engine: Store['engine'], queries: ScriptQueries, policy: MigrationPolicy
): Promise<string[]> {
  const shipped = await readMigrations()
  await queries.script(
    'create table if not exists migration (id integer primary key, name text not null, applied_at bigint not null)'
  )
  const applied = await queries.all<{ id: number, name: string }>('select id, name from migration order by id')
  refuseOtherHistory(applied, shipped)

  const missing = shipped.slice(applied.length)
  if (policy === 'refuse' && applied.length > 0 && missing.length > 0) throw olderDatabase(missing)
  for (const { id, name, sql } of missing) {
    await queries.script(sqlFor(engine, sql))
    await queries.run('insert into migration (id, name, applied_at) values ($1, $2, $3)', [id, name, Date.now()])
  }
  return missing.map(({ name }) => name)
}

/** Returns the lines for an engine: those after `-- engine: <engine>` or `-- engine: all`. */
export function sqlFor (engine: Store['engine'], sql: string): string {
  let section = 'all'
  const kept = sql.split('\n').filter((line) => {
    const marker = /^\s*-- engine: (\w+)\s*$/.exec(line)
    if (marker !== null) section = marker[1] ?? 'all'
    return section === 'all' || section === engine
  })
  return kept.join('\n')
}

function olderDatabase (missing: readonly Migration[]): Error {
  const names = missing.map(({ id, name }) => `${id} ${name}`).join(', ')
  return new Error('The database was written by an older version of Tollgate, which may be running; it lacks the ' +
    `migrations ${names}. Use that version's \`tollgate\`, or migrate the database: run \`npx tollgate migrate\`, ` +
    'or start this version of the gateway.')
}

async function readMigrations (): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return await Promise.all(files.map(async (file, index) => {
    const [number = '', name = ''] = file.replace(/\.sql$/, '').split(/-(.*)/)
    if (Number(number) !== index + 1) throw new Error(`Migrations must be numbered without gaps: ${file}`)
    return { id: index + 1, name, sql: await readFile(join(folder, file), 'utf8') }
  }))
}

function refuseOtherHistory (applied: { id: number, name: string }[], shipped: Migration[]): void {
  for (const [index, { id, name }] of applied.entries()) {
    const expected = shipped[index]
    if (expected === undefined) {
      throw new Error(`The database was written by a newer version of Tollgate (migration ${id}, ${name}); ` +
        `this version knows ${shipped.length} migrations. Start the newer version, or restore an older backup.`)
    }
    if (expected.id !== id || expected.name !== name) {
      throw new Error(`The database has migration ${id}, ${name}, where this version has ` +
        `${expected.id}, ${expected.name}. It was not written by a released version of Tollgate.`)
    }
  }
}
