import { GatewayError } from '../shared/errors.ts'
import { noLimits } from '../shared/limits.ts'
import type { Queries, Store } from '../store/store.ts'
import { createAuthenticator, type Authenticator } from './authenticate.ts'
import { createKeyCache } from './cache.ts'
import { createKeyChanges, type KeyChanges } from './changes.ts'
import { unknownKey } from './errors.ts'
import { hasKeys, insertKey, markKeyUsed, selectKey, selectKeyPage, toListedKey } from './rows.ts'
import type { KeyFilter } from './rows.ts'
import { refuseWrongSettings } from './settings.ts'
import { createToken, hashSecret } from './token.ts'
import type { KeyRole, KeySettings, ListedKey } from './types.ts'

/** A key to be created. Absent settings are null: all models, no budget, never expires, no limits. */
export interface KeyToCreate extends Partial<KeySettings> {
  /** The account that pays; an admin key pays for nothing and names the account of its holder. */
  account: string
  label: string
  role?: KeyRole
}

/** API keys. Methods throw StoreUnavailable. */
export interface Keys extends KeyChanges, Authenticator {
  /**
   * Returns a `key` that is not stored and cannot be shown again. `queries` makes it part of the caller's
   * transaction. Throws GatewayError 400 for an unknown account or a wrong field.
   */
  create (newKey: KeyToCreate, queries?: Queries): Promise<{ id: string, key: string }>
  /** Throws GatewayError 404. */
  get (id: string): Promise<ListedKey>
  /** Lists keys, revoked ones included, newest first; `limit` is 1,000 by default and 10,000 at most. */
  list (filter?: Partial<KeyFilter>): Promise<ListedKey[]>
  /** Whether any key was ever created. */
  exist (queries?: Queries): Promise<boolean>
}

const defaultListed = 1_000
const maxListed = 10_000

/** Creates the keys of a store. `clock` returns milliseconds since 1970. */
export function createKeys (store: Store, clock: () => number = Date.now): Keys {
  const cache = createKeyCache(store, clock)
  const authenticator = createAuthenticator({
    cache,
    clock,
    // A later use repeats this, so a failure is only a warning.
    onUse: (id, at) => { markKeyUsed(store, id, at).catch((error: Error) => process.emitWarning(error)) }
  })

  return {
    ...authenticator,
    ...createKeyChanges({ store, clock, onChange: (id) => cache.forget(id) }),
    exist: (queries = store) => hasKeys(queries),

    async create (newKey, queries = store) {
      const { account, role = 'user', label, models = null, budget = null, expiresAt = null, limits = noLimits } = newKey
      const settings = { label, models, budget, expiresAt, limits }
      refuseWrongSettings(settings)
      const { id, secret, key } = createToken()
      const secretSha256 = hashSecret(secret).toString('hex')
      const row = { id, secretSha256, account, role, createdAt: clock(), ...settings }
      if (!await insertKey(queries, row)) {
        throw GatewayError.invalidRequest(`The account \`${account}\` does not exist.`, { param: 'account' })
      }
      return { id, key }
    },

    async get (id) {
      const key = await selectKey(store, id)
      if (key === undefined) throw unknownKey(id)
      return toListedKey(key)
    },

    async list ({ account = null, after = null, limit = defaultListed } = {}) {
      const keys = await selectKeyPage(store, { account, after, limit: Math.min(limit, maxListed) })
      return keys.map(toListedKey)
    }
  }
}
