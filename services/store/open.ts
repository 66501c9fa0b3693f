import { processWarnings, type Log } from '../shared/log.ts'
import type { MigrationPolicy } from './migrations.ts'
import { migrateSqlite, openSqlite } from './sqlite.ts'
import type { Store } from './store.ts'

interface OpenOptions { log?: Log, migrations?: MigrationPolicy }

/**
 * Opens `sqlite:<path>`, `sqlite::memory:` or
 * `postgres://user:password@host:port/database?pool=<connections>`, and migrates an older database by
 * default. Throws an Error for other addresses, StoreUnavailable when the database cannot be used.
 */
export async function openStore (
  url: string, { log = processWarnings, migrations = 'apply' }: OpenOptions = {}
): Promise<Store> {
  const path = sqlitePath(url)
  if (path !== null) return await openSqlite(path, { log, migrations })
  // Loaded on demand: the client takes a large part of the start-up time.
  const { openPostgres } = await import('./postgres.ts')
  return await openPostgres(url, { log, migrations })
}

/** Migrates the database at `url`; returns the names of the migrations it lacked. Throws as `openStore`. */
export async function migrateDatabase (url: string, log: Log): Promise<string[]> {
  const path = sqlitePath(url)
  if (path !== null) return await migrateSqlite(path)
  const { migratePostgres } = await import('./postgres.ts')
  return await migratePostgres(url, log)
}

/** The path of a SQLite database; null for Postgres. */
function sqlitePath (url: string): string | null {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(?:\/\/)?(.*)$/is.exec(url) ?? []
  switch (scheme?.toLowerCase()) {
    case 'sqlite':
      if (rest !== '') return rest
      break
    case 'postgres':
    case 'postgresql':
      return null
  }
  // The rest of the address may contain a password.
  const given = scheme === undefined ? 'no scheme' : `"${scheme}:"`
  throw new Error(`The database address has ${given}; supported are sqlite:<path>, e.g. sqlite:data/tollgate.db, ` +
    'and postgres://user:password@host:port/database')
}
