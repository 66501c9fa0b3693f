import { processWarnings, type Log } from '../shared/log.ts'
import { openSqlite } from './sqlite.ts'
import type { Store } from './store.ts'

/**
 * Opens `sqlite:<path>`, `sqlite::memory:` or
 * `postgres://user:password@host:port/database?pool=<connections>`. Throws an Error for other addresses,
 * StoreUnavailable when the database cannot be used.
 */
export async function openStore (url: string, { log = processWarnings }: { log?: Log } = {}): Promise<Store> {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(?:\/\/)?(.*)$/is.exec(url) ?? []
  switch (scheme?.toLowerCase()) {
    case 'sqlite':
      if (rest !== '') return await openSqlite(rest)
      break
    case 'postgres':
    case 'postgresql': {
      // Loaded on demand: the client takes a good part of the start-up time.
      const { openPostgres } = await import('./postgres.ts')
      return await openPostgres(url, { log })
    }
  }
  // The rest of the address may hold a password.
  const given = scheme === undefined ? 'no scheme' : `"${scheme}:"`
  throw new Error(`The database address has ${given}; supported are sqlite:<path>, e.g. sqlite:data/tollgate.db, ` +
    'and postgres://user:password@host:port/database')
}
