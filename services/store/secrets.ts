import { randomBytes } from 'node:crypto'
import type { SecretBox } from './secret-box.ts'
import type { Store } from './store.ts'

type SecretStore = Pick<Store, 'run' | 'get' | 'clock'>

/** Returns 32 random bytes in base64url that all nodes share, created on first use. */
export async function sharedSecret (store: SecretStore, box: SecretBox, name: string): Promise<string> {
  await store.run('insert into secret (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing',
    [name, box.seal(name, randomBytes(32).toString('base64url')), store.clock()])
  const row = await store.get<{ value: string }>('select value from secret where name = $1', [name])
  if (row === undefined) throw new Error(`The secret ${name} was deleted concurrently.`)
  return box.open(name, row.value)
}

/**
 * Re-encrypts every secret that is stored in clear or under the previous key. Throws Error if a key is
 * missing, and StoreUnavailable.
 */
export async function resealSecrets (store: Pick<Store, 'all' | 'run'>, box: SecretBox): Promise<void> {
  const rows = await store.all<{ name: string, value: string }>('select name, value from secret')
  for (const { name, value } of rows) {
    if (box.isCurrent(value)) continue
    // Another node may have sealed or replaced it in the meantime.
    await store.run('update secret set value = $3 where name = $1 and value = $2',
      [name, value, box.seal(name, box.open(name, value))])
  }
}
