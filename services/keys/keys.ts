import { GatewayError } from '../shared/errors.ts'
import { noLimits } from '../shared/limits.ts'
import type { Queries, Store } from '../store/store.ts'
import { createAuthenticate } from './authenticate.ts'
import { createBudgets } from './budgets.ts'
import { createKeyChanges } from './changes.ts'
import type { KeyChanges } from './changes.ts'
import { createKnownKeys } from './known-keys.ts'
import { createKeyLookup } from './lookup.ts'
import type { KeyRecord } from './record.ts'
import { unknownKey } from './refusals.ts'
import { hasKeys, insertKey, listKeys, selectKey, toListed, touchKey } from './rows.ts'
import type { KeyFilter, KeyRole, KeySettings, ListedKey } from './rows.ts'
import { refuseWrongSettings } from './settings.ts'
import { createToken, hashSecret, type Credential } from './token.ts'

export type { Period } from './periods.ts'
export type { KeyRecord } from './record.ts'
export type { Budget, KeyRole, KeySettings, ListedKey } from './rows.ts'

/** A key to be created. What is absent is null: all models, no budget, never expires, no limits. */
export interface NewKey extends Partial<KeySettings> {
  /** The one that pays; an admin key pays for nothing and names the account of whoever holds it. */
  account: string
  /** For people, at most 200 characters. */
  label: string
  /** `user` unless told. */
  role?: KeyRole
}

/** API keys. Methods throw StoreUnavailable when the database cannot be asked. */
export interface Keys extends KeyChanges {
  /**
   * Creates a key of an existing account; the `key` returned is not kept and cannot be shown again. `queries`
   * lets it be part of the caller's transaction. Throws GatewayError 400 when the account is unknown or a
   * field is wrong.
   */
  create (newKey: NewKey, queries?: Queries): Promise<{ id: string, key: string }>
  /** Returns a key, revoked or not. Throws GatewayError 404. */
  get (id: string): Promise<ListedKey>
  /**
   * Lists keys, revoked ones too, newest first: those of an account or all, beginning behind the key whose id
   * is `after`, at most `limit` (1,000 unless told, 10,000 at most).
   */
  list (filter?: Partial<KeyFilter>): Promise<ListedKey[]>
  /** Whether any key was ever created. */
  exist (queries?: Queries): Promise<boolean>
  /**
   * Returns the record of a key of the given role, `user` unless told: at once when it was looked up within
   * the last second, else as a promise. Throws, or rejects with, GatewayError 401 when the key is not good. A
   * key that was good within the last minute goes on working while the database cannot be asked.
   */
  authenticate (key: string, role?: KeyRole): KeyRecord | Promise<KeyRecord>
  /**
   * The same without the database and without errors: the record of a user's good key looked up lately, or
   * undefined.
   */
  recall (credential: Credential): KeyRecord | undefined
}

const defaultListed = 1_000
const maxListed = 10_000

/** Creates the keys of a store. `clock` gives milliseconds since 1970. */
export function createKeys (store: Store, clock: () => number = Date.now): Keys {
  const known = createKnownKeys({ lookup: createKeyLookup(store), budgets: createBudgets(store), clock })
  const { authenticate, recall } = createAuthenticate({
    known,
    clock,
    // Nobody waits for this note and a later use repeats it, so a failure is told, not thrown.
    onUse: (id, at) => { touchKey(store, id, at).catch((error: Error) => process.emitWarning(error)) }
  })

  return {
    authenticate,
    recall,
    ...createKeyChanges({ store, clock, onChange: (id) => known.forget(id) }),
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
      return toListed(key)
    },

    async list ({ account = null, after = null, limit = defaultListed } = {}) {
      const keys = await listKeys(store, { account, after, limit: Math.min(limit, maxListed) })
      return keys.map(toListed)
    }
  }
}
