import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The file with the address of the shared Postgres server. */
export function addressFile (runner: number): string {
  return join(tmpdir(), `tollgate-test-postgres-${runner}`)
}
