import { join } from 'node:path'
import type { Test } from 'tap'
import { openStore } from '../services/store/open.ts'
import type { Store } from '../services/store/store.ts'
import { sharedPostgres } from './postgres.ts'
import { temporaryFolder } from './process.ts'
import { openWithClock } from './store-clock.ts'

/** An empty database of one engine, removed when the test ends. */
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
  t: Test, name: string, work: (t: Test, database: Database) => Promise<void>
): void {
  for (const engine of engines) {
    t.test(`${name} (${engine})`, async (t) => await work(t, await createDatabase(t, engine)))
  }
}

/** An empty database of the given engine. */
export async function createDatabase (t: Test, engine: Store['engine']): Promise<Database> {
  const url = engine === 'sqlite'
    ? `sqlite:${join(await temporaryFolder(t), 'tollgate.db')}`
    : await (await sharedPostgres()).createSchema()
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
