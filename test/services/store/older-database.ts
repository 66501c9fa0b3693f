import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { sqlFor } from '../../../services/store/migrations.ts'
import type { Database } from '../../helpers/engines.ts'

const migrations = join(import.meta.dirname, '../../../services/store/migrations')

/** Gives an empty database the migrations before the one of that name, and then runs `rows`. */
export async function makeOlderDatabase (
  { engine, url }: Pick<Database, 'engine' | 'url'>, name: string, rows: string
): Promise<void> {
  const all = (await readdir(migrations)).sort()
  const files = all.slice(0, all.findIndex(file => file.endsWith(`-${name}.sql`)))
  const texts = await Promise.all(files.map(file => readFile(join(migrations, file), 'utf8')))
  const history = files.map((file, index) => {
    const name = /^\d+-(.*)\.sql$/.exec(file)?.[1] ?? ''
    return `insert into migration (id, name, applied_at) values (${index + 1}, '${name}', 0);`
  })
  const script = [
    'create table migration (id integer primary key, name text not null, applied_at bigint not null);',
    ...texts.map(text => sqlFor(engine, text)), ...history, rows
  ].join('\n')
  if (engine === 'sqlite') {
    const database = new DatabaseSync(url.replace('sqlite:', ''))
    database.exec(script)
    return database.close()
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(script)
  await client.end()
}
