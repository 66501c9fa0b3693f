import { randomBytes } from 'node:crypto'
import type { Store } from './store.ts'

/** Returns 32 random bytes in base64url that all nodes share, created on first use. */
export async function sharedSecret (
  store: Pick<Store, 'run' | 'get' | 'clock'>, name: string, nowMs: number = store.clock()
): Promise<string> {
  await store.run('insert into secret (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing',
    [name, randomBytes(32).toString('base64url'), nowMs])
  const row = await store.get<{ value: string }>('select value from secret where name = $1', [name])
  if (row === undefined) throw new Error(`The secret ${name} was deleted concurrently.`)
  return row.value
}
