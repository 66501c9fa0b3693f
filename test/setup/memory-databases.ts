import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Loaded before the tests. Most of their gateways have a database in memory, whose migrations take a quarter
// of the time to build and close one. So these databases begin as copies of one that is migrated.

// That program has no database, and tap records the coverage of all that it loads.
if (process.argv[1] !== join(import.meta.dirname, 'before.ts')) beginAsCopiesOf(await migratedImage())

function beginAsCopiesOf (image: Uint8Array): void {
  const begun = new WeakSet<DatabaseSync>()
  const { exec } = DatabaseSync.prototype
  // The store's first statement, which sets up the connection.
  DatabaseSync.prototype.exec = function (sql) {
    if (!begun.has(this) && this.location() === null) this.deserialize(image)
    begun.add(this)
    exec.call(this, sql)
  }
}

async function migratedImage (): Promise<Uint8Array> {
  const { migrateSqlite } = await import('../../services/store/sqlite.ts')
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tollgate-test-'))
  const path = join(folder.path, 'tollgate.db')
  await migrateSqlite(path)
  const bytes = await readFile(path)
  // A database in memory has no write-ahead log. Source: https://sqlite.org/fileformat.html, 1.3.3
  return bytes.fill(1, 18, 20)
}
