import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Store } from '../store/store.ts'

/** Signs addresses that open without a key, and knows its own signatures again. */
export interface Signatures {
  /** `expiresS` in Unix seconds, as in the address. */
  sign (id: string, expiresS: string): string
  isGood (id: string, expiresS: string, signature: string): boolean
}

/** The first key signs; all of them are good, so that addresses outlive a change of the key. */
export function createSignatures (keys: readonly [string, ...string[]]): Signatures {
  return {
    sign: (id, expiresS) => digest(keys[0], id, expiresS).toString('base64url'),
    isGood (id, expiresS, signature) {
      const given = Buffer.from(signature, 'base64url')
      // What decodes alike is not the same: each address has one spelling.
      if (given.toString('base64url') !== signature) return false
      return keys.some(key => {
        const own = digest(key, id, expiresS)
        return own.length === given.length && timingSafeEqual(own, given)
      })
    }
  }
}

function digest (key: string, id: string, expiresS: string): Buffer {
  return createHmac('sha256', key).update(`${id}|${expiresS}`).digest()
}

const name = 'media-signing-key'

/** The key that all nodes on one database share, made by the first that asks. Throws StoreUnavailable. */
export async function sharedSigningKey (store: Store, nowMs: number = Date.now()): Promise<string> {
  await store.run('insert into secret (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing',
    [name, randomBytes(32).toString('base64url'), nowMs])
  const row = await store.get<{ value: string }>('select value from secret where name = $1', [name])
  if (row === undefined) throw new Error('The key that signs addresses of media was removed just now.')
  return row.value
}
