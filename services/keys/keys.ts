import { gatewayActor, recordChange, type Actor } from '../store/audit.ts'
import { GatewayError } from '../shared/errors.ts'
import type { Queries, Store } from '../store/store.ts'
import { createAuthenticator, createToken, hashSecret } from './authenticate.ts'
import { createKeyCache } from './cache.ts'
import { createKeyChanges } from './changes.ts'
import { unknownKey } from './errors.ts'
import { hasKeys, insertKey, markKeyUsed, selectKey, selectKeyPage, selectKeysByName, toListedKey } from './rows.ts'
import type { KeyFilter, KeySearch } from './rows.ts'
import { noSettings, refuseWrongSettings, settingsOf, shownSettings } from './settings.ts'
import type { KeyRole, KeySettings, ListedKey } from './types.ts'

/** A key to be created. Absent settings are null: all models, no budget, never expires, no limits. */
export interface KeyToCreate extends Partial<KeySettings> {
  /** Random by default. */
  id?: string
  /** The account that pays. An admin key pays for nothing; this is the account of its holder. */
  account: string
  role?: KeyRole
  actor?: Actor
}

export type Keys = ReturnType<typeof createKeys>

const defaultListed = 1_000
const maxListed = 10_000

/** Creates the keys of a store. Methods throw StoreUnavailable. */
export function createKeys (store: Store, clock = store.clock) {
  const cache = createKeyCache(store, clock)
  const authenticator = createAuthenticator({
    cache,
    clock,
    // A later use of the key repeats this, so a failure is only a warning.
    onUse: (id, at) => { markKeyUsed(store, id, at).catch((error: Error) => process.emitWarning(error)) }
  })

  return {
    ...authenticator,
    ...createKeyChanges({ store, clock, onChange: (id) => cache.forget(id) }),
    /** Whether any key exists. */
    exist: (queries: Queries = store): Promise<boolean> => hasKeys(queries),

    /**
     * Returns a `key` that is not stored and cannot be shown again. `queries` makes it part of the caller's
     * transaction. Throws GatewayError 400 for an unknown account or a wrong field.
     */
    async create (newKey: KeyToCreate, queries?: Queries): Promise<{ id: string, key: string }> {
      const { account, role = 'user', actor = gatewayActor } = newKey
      const settings = { ...noSettings, ...settingsOf(newKey) }
      refuseWrongSettings(settings)
      const { id, secret, key } = createToken(newKey.id)
      const secretSha256 = hashSecret(secret).toString('hex')
      const row = { id, secretSha256, account, role, createdAt: clock(), ...settings }
      const insert = async (queries: Queries) => {
        if (!await insertKey(queries, row)) {
          throw GatewayError.invalidRequest(`The account \`${account}\` does not exist or is closed.`, { param: 'account' })
        }
        const after = { role, account, ...shownSettings(settings) }
        await recordChange(queries, { actor, action: 'key.create', target: `key:${id}`, after, at: row.createdAt })
      }
      await (queries === undefined ? store.transaction(insert) : insert(queries))
      return { id, key }
    },

    /** Throws GatewayError 404. */
    async get (id: string): Promise<ListedKey> {
      const key = await selectKey(store, id)
      if (key === undefined) throw unknownKey(id)
      return toListedKey(key)
    },

    /** Lists keys, revoked ones included, newest first; `limit` is 1,000 by default and 10,000 at most. */
    async list (filter: Partial<KeyFilter> = {}): Promise<ListedKey[]> {
      const { account = null, after = null, limit = defaultListed } = filter
      const keys = await selectKeyPage(store.reports, { account, after, limit: Math.min(limit, maxListed) })
      return keys.map(toListedKey)
    },

    /** Finds keys by a prefix of their label or id, ordered by the match. */
    async search (search: KeySearch): Promise<ListedKey[]> {
      return (await selectKeysByName(store, search)).map(toListedKey)
    }
  }
}
