import { openSqlite } from './sqlite.ts'
import type { Store } from './store.ts'

/**
 * Opens the store that `url` names: `sqlite:<path>`, relative to the working directory or absolute, or
 * `sqlite::memory:`. Throws an Error for other schemes, StoreUnavailable when the database cannot be used.
 */
export async function openStore (url: string): Promise<Store> {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(?:\/\/)?(.*)$/is.exec(url) ?? []
  if (scheme?.toLowerCase() === 'sqlite' && rest !== '') return await openSqlite(rest)
  // Only the scheme is repeated: the rest of a database's address may hold a password.
  const given = scheme === undefined ? 'no scheme' : `"${scheme}:"`
  throw new Error(`The database address has ${given}; supported is sqlite:<path>, e.g. sqlite:data/tollgate.db`)
}
