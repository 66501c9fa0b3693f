import { GatewayError } from '../errors.ts'
import type { Queries, Store } from '../store/store.ts'
import { createAuthenticate } from './authenticate.ts'
import { createBudgets, limitBudget } from './budgets.ts'
import { createKnownKeys } from './known-keys.ts'
import { createKeyLookup } from './lookup.ts'
import type { KeyRecord } from './record.ts'
import { alreadyRevoked, unknownKey } from './refusals.ts'
import {
  hasKeys, insertKey, listKeys, lockKey, revokeKey, rotateKey, selectKey, touchKey, updateKey
} from './rows.ts'
import type { KeyFilter, KeyRole, KeySettings, StoredKey } from './rows.ts'
import { refuseWrongSettings } from './settings.ts'
import { createToken, hashSecret } from './token.ts'

export type { Period } from './periods.ts'
export type { KeyRecord } from './record.ts'
export type { Budget, KeyRole, KeySettings } from './rows.ts'

/** A key to be created. What is absent is null: all models, no budget, never expires. */
export interface NewKey extends Partial<KeySettings> {
  /** The one that pays; an admin key pays for nothing and names the account of whoever holds it. */
  account: string
  /** For people, at most 200 characters. */
  label: string
  /** `user` unless told. */
  role?: KeyRole
}

/** What is shown of a key: everything but the hashes of its secrets. */
export type ListedKey = Omit<StoredKey, 'secretSha256' | 'previousSha256'>

/** A key with its new secret, and until when the one before goes on, in milliseconds. */
export interface RotatedKey { id: string, key: string, previousUntil: number }

/** API keys. Methods throw StoreUnavailable when the database cannot be asked. */
export interface Keys {
  /**
   * Creates a key of an existing account; the `key` returned is not kept and cannot be shown again. `queries`
   * lets it be part of the caller's transaction. Throws GatewayError 400 when the account is unknown or a
   * field is wrong.
   */
  create (newKey: NewKey, queries?: Queries): Promise<{ id: string, key: string }>
  /**
   * Changes the settings that are given, in every process within 2 s, and returns the key. A new limit counts
   * for what the budget's period has seen already, another period begins with nothing spent. Throws
   * GatewayError 400 when a field is wrong, 404 for an unknown key, 409 for a revoked one.
   */
  update (id: string, changes: Partial<KeySettings>): Promise<ListedKey>
  /**
   * Gives a key a new secret and returns it as a new `key`, not to be shown again. The secret it had goes on
   * for `graceMs`, 24 hours unless told, which ends at `previousUntil`; one from before that ends at once.
   * Throws GatewayError 400 for a wrong `graceMs`, 404 for an unknown key, 409 for a revoked one.
   */
  rotate (id: string, options?: { graceMs?: number }): Promise<RotatedKey>
  /** Ends a key in every process within 2 s. False when it is unknown or was revoked before. */
  revoke (id: string): Promise<boolean>
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
  recall (key: string): KeyRecord | undefined
}

const defaultListed = 1_000
const maxListed = 10_000
const defaultGraceMs = 24 * 3_600_000
const maxGraceMs = 366 * 24 * 3_600_000

/** Creates the keys of a store. `clock` gives milliseconds since 1970. */
export function createKeys (store: Store, clock: () => number = Date.now): Keys {
  const known = createKnownKeys({ lookup: createKeyLookup(store), budgets: createBudgets(store), clock })
  const { authenticate, recall } = createAuthenticate({
    known,
    clock,
    // Nobody waits for this note and a later use repeats it, so a failure is told, not thrown.
    onUse: (id, at) => { touchKey(store, id, at).catch((error: Error) => process.emitWarning(error)) }
  })

  /** Changes a key behind its lock, so that what two operators change at the same time does not mix. */
  async function change<T> (id: string, work: (queries: Queries, key: StoredKey) => Promise<T>): Promise<T> {
    try {
      return await store.transaction(async (queries) => {
        const key = await lockKey(queries, id)
        if (key === undefined) throw unknownKey(id)
        if (key.revokedAt !== null) throw alreadyRevoked(id)
        return await work(queries, key)
      })
    } finally {
      known.forget(id)
    }
  }

  return {
    authenticate,
    recall,
    exist: (queries = store) => hasKeys(queries),

    async create (newKey, queries = store) {
      const { account, role = 'user', label, models = null, budget = null, expiresAt = null } = newKey
      const settings = { label, models, budget, expiresAt }
      refuseWrongSettings(settings)
      const { id, secret, key } = createToken()
      const secretSha256 = hashSecret(secret).toString('hex')
      const row = { id, secretSha256, account, role, createdAt: clock(), ...settings }
      if (!await insertKey(queries, row)) {
        throw GatewayError.invalidRequest(`The account \`${account}\` does not exist.`, { param: 'account' })
      }
      return { id, key }
    },

    update: (id, changes) => change(id, async (queries, key) => {
      const { label = key.label, models = key.models } = changes
      const { budget = key.budget, expiresAt = key.expiresAt } = changes
      const settings = { label, models, budget, expiresAt }
      refuseWrongSettings(settings)
      await updateKey(queries, id, settings)
      if (budget !== null) await limitBudget(queries, id, budget, clock())
      return toListed({ ...key, ...settings })
    }),

    async rotate (id, { graceMs = defaultGraceMs } = {}) {
      if (!Number.isSafeInteger(graceMs) || graceMs < 0 || graceMs > maxGraceMs) {
        throw GatewayError.invalidRequest('The old secret can go on for 0 milliseconds to 366 days.',
          { param: 'grace_ms', code: 'invalid_value' })
      }
      return await change(id, async (queries) => {
        const { secret, key } = createToken(id)
        const previousUntil = clock() + graceMs
        await rotateKey(queries, id, hashSecret(secret).toString('hex'), previousUntil)
        return { id, key, previousUntil }
      })
    },

    async revoke (id) {
      const revoked = await revokeKey(store, id, clock())
      known.forget(id)
      return revoked
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

function toListed ({ secretSha256: _, previousSha256: __, ...listed }: StoredKey): ListedKey {
  return listed
}
