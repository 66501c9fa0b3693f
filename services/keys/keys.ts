import { GatewayError } from '../errors.ts'
import type { Queries, Store } from '../store/store.ts'
import { createAuthenticate } from './authenticate.ts'
import { createKnownKeys } from './known-keys.ts'
import type { KeyRecord } from './known-keys.ts'
import { createKeyLookup } from './lookup.ts'
import { hasKeys, insertKey, listKeys, revokeKey, touchKey } from './rows.ts'
import type { KeyRow } from './rows.ts'
import { createToken, hashSecret } from './token.ts'

export type { KeyRecord } from './known-keys.ts'

export interface NewKey {
  account: string
  /** For people, at most 200 characters. */
  label: string
  /** Milliseconds; absent or null: never. */
  expiresAt?: number | null
}

/** What is shown of a key: everything but the hash of its secret. */
export type ListedKey = Omit<KeyRow, 'secretSha256'>

/** API keys. Methods throw StoreUnavailable when the database cannot be asked. */
export interface Keys {
  /**
   * Creates a key of an existing account; the `key` returned is not kept and cannot be shown again. `queries`
   * lets it be part of the caller's transaction. Throws GatewayError 400 when the account is unknown or a
   * field is wrong.
   */
  create (newKey: NewKey, queries?: Queries): Promise<{ id: string, key: string }>
  /** Ends a key in every process within 2 s. False when it is unknown or was revoked before. */
  revoke (id: string): Promise<boolean>
  /** Lists all keys, revoked ones too, newest first, at most `limit` (1,000 unless told). */
  list (limit?: number): Promise<ListedKey[]>
  /** Whether any key was ever created. */
  exist (queries?: Queries): Promise<boolean>
  /**
   * Returns the record of a key: at once when it was looked up within the last second, else as a promise.
   * Throws, or rejects with, GatewayError 401 when the key is not good. A key that was good within the last
   * minute goes on working while the database cannot be asked.
   */
  authenticate (key: string): KeyRecord | Promise<KeyRecord>
  /**
   * The same without the database and without errors: the record of a good key looked up lately, or
   * undefined.
   */
  recall (key: string): KeyRecord | undefined
}

const maxLabelLength = 200
const maxListed = 1_000

/** Creates the keys of a store. `clock` gives milliseconds since 1970. */
export function createKeys (store: Store, clock: () => number = Date.now): Keys {
  const known = createKnownKeys(createKeyLookup(store), clock)
  const { authenticate, recall } = createAuthenticate({
    known,
    clock,
    // Nobody waits for this note and a later use repeats it, so a failure is told, not thrown.
    onUse: (id, at) => { touchKey(store, id, at).catch((error: Error) => process.emitWarning(error)) }
  })

  return {
    authenticate,
    recall,
    exist: (queries = store) => hasKeys(queries),

    async create ({ account, label, expiresAt = null }, queries = store) {
      refuseWrongFields(label, expiresAt)
      const { id, secret, key } = createToken()
      const secretSha256 = hashSecret(secret).toString('hex')
      if (!await insertKey(queries, { id, secretSha256, account, label, createdAt: clock(), expiresAt })) {
        throw GatewayError.invalidRequest(`The account \`${account}\` does not exist.`, { param: 'account' })
      }
      return { id, key }
    },

    async revoke (id) {
      const revoked = await revokeKey(store, id, clock())
      known.forget(id)
      return revoked
    },

    async list (limit = maxListed) {
      const rows = await listKeys(store, Math.min(limit, maxListed))
      return rows.map(({ secretSha256: _, ...listed }) => listed)
    }
  }
}

function refuseWrongFields (label: string, expiresAt: number | null): void {
  if (label.length > maxLabelLength) {
    throw GatewayError.invalidRequest(`A label has at most ${maxLabelLength} characters.`, { param: 'label' })
  }
  if (expiresAt !== null && !Number.isSafeInteger(expiresAt)) {
    throw GatewayError.invalidRequest('The time of expiry is an integer in milliseconds.', { param: 'expires_at' })
  }
}
