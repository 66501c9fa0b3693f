import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where the tests find the Postgres server of the process that runs them. */
export function addressFile (runner: number): string {
  return join(tmpdir(), `tollgate-test-postgres-${runner}`)
}
