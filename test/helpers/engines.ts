import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'
import { migratedDatabase } from './migrated-postgres.ts'
import { sharedPostgres } from './postgres.ts'
import { temporaryFolder } from './process.ts'
import { openWithClock } from './store-clock.ts'

const fileName = 'tollgate.db'

/** A database of one engine, removed or emptied after the test. */
export interface Database {
  engine: Store['engine']
  /** For `openStore`, or `DATABASE_URL` of another process; on Postgres it already has a query. */
  url: string
  /**
   * Opens a store as another node would; it is closed when the test ends. `clock` replaces the database's.
   */
  open (clock?: () => number): Promise<Store>
}

const engines: readonly Store['engine'][] = ['sqlite', 'postgres']

/** Runs a test on every engine, each with its own database. */
export function forEachEngine (
  t: Test, name: string, work: (t: Test, database: Database) => Promise<void>, create = createDatabase
): void {
  for (const engine of engines) {
    t.test(`${name} (${engine})`, async (t) => await work(t, await create(t, engine)))
  }
}

/** A new database that has the gateway's tables already. */
export async function createDatabase (t: Test, engine: Store['engine']): Promise<Database> {
  return engine === 'sqlite'
    ? databaseAt(t, engine, await copySqliteTemplate(await temporaryFolder(t)))
    : databaseAt(t, engine, await migratedDatabase(t, (await sharedPostgres()).address))
}

/** A new database without any table. */
export async function createEmptyDatabase (t: Test, engine: Store['engine']): Promise<Database> {
  return databaseAt(t, engine, engine === 'sqlite'
    ? sqliteIn(await temporaryFolder(t))
    : await (await sharedPostgres()).createSchema())
}

function databaseAt (t: Test, engine: Store['engine'], url: string): Database {
  return {
    engine,
    url,
    open: async (clock) => {
      const store = clock === undefined ? await openStore(url) : await openWithClock(url, clock)
      t.teardown(() => store.close())
      return store
    }
  }
}

let sqliteTemplate: Promise<Uint8Array> | undefined

/** Copies a file with all tables, which takes a fifth of the time to make them. */
async function copySqliteTemplate (folder: string): Promise<string> {
  sqliteTemplate ??= makeSqliteTemplate()
  await writeFile(join(folder, fileName), await sqliteTemplate)
  return sqliteIn(folder)
}

async function makeSqliteTemplate (): Promise<Uint8Array> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tollgate-test-'))
  await (await openStore(sqliteIn(folder.path))).close()
  return await readFile(join(folder.path, fileName))
}

function sqliteIn (folder: string): string {
  return `sqlite:${join(folder, fileName)}`
}
