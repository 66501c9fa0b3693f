import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { indexesOf, type IndexBuild } from './index-builds.ts'
import type { Queries, ScriptQueries, Store } from './store.ts'

/** One numbered file of migrations/, append-only once released; `sql` is its text for all engines. */
interface Migration { id: number, name: string, sql: string }

const folder = join(import.meta.dirname, 'migrations')

/** Whether an older database is migrated or rejected; an empty one always gets its tables. */
export type MigrationPolicy = 'apply' | 'refuse'

/** The applied migrations, and the indexes to build next, outside the transaction, before continuing. */
export interface Migrated { names: string[], indexes: IndexMigration | null }

/** A migration that builds indexes on tables in use. */
export interface IndexMigration { id: number, name: string, builds: IndexBuild[] }

/**
 * Applies the migrations that a database lacks, in the caller's transaction and under its lock; on Postgres,
 * those before the next one that only builds indexes, unless the database is empty. Throws an Error, before
 * any change, when the database was written by a newer version, or by an older one with `refuse`,
 * or its history differs.
 */
export async function migrate (
  engine: Store['engine'], queries: ScriptQueries, policy: MigrationPolicy
): Promise<Migrated> {
  const shipped = await readMigrations()
  await queries.script(
    'create table if not exists migration (id integer primary key, name text not null, applied_at bigint not null)'
  )
  const applied = await queries.all<{ id: number, name: string }>('select id, name from migration order by id')
  refuseOtherHistory(applied, shipped)

  const missing = shipped.slice(applied.length)
  if (policy === 'refuse' && applied.length > 0 && missing.length > 0) throw olderDatabase(missing)
  const names: string[] = []
  for (const { id, name, sql } of missing) {
    const text = sqlFor(engine, sql)
    const builds = engine === 'postgres' && applied.length > 0 ? indexesOf(text) : []
    if (builds.length > 0) return { names, indexes: { id, name, builds } }
    await queries.script(text)
    await recordMigration(queries, { id, name })
    names.push(name)
  }
  return { names, indexes: null }
}

/** Records that a migration was applied; repeating it has no effect. */
export async function recordMigration (
  queries: Queries, { id, name }: Pick<Migration, 'id' | 'name'>
): Promise<void> {
  await queries.run('insert into migration (id, name, applied_at) values ($1, $2, $3) on conflict (id) do nothing',
    [id, name, Date.now()])
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
        `this version has ${shipped.length} migrations. Start the newer version, or restore an older backup.`)
    }
    if (expected.id !== id || expected.name !== name) {
      throw new Error(`The database has migration ${id}, ${name}, where this version has ` +
        `${expected.id}, ${expected.name}. It was not written by a released version of Tollgate.`)
    }
  }
}
