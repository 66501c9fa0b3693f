import type { Queries, Store } from '../store/store.ts'
import { limitBudget } from './budgets.ts'
import { alreadyRevoked, unknownKey } from './refusals.ts'
import { lockKey, revokeKey, rotateKey, toListed, updateKey } from './rows.ts'
import type { KeySettings, ListedKey, StoredKey } from './rows.ts'
import { refuseWrongGrace, refuseWrongSettings } from './settings.ts'
import { createToken, hashSecret } from './token.ts'

/** A key with its new secret, and until when the one before goes on, in milliseconds. */
export interface RotatedKey { id: string, key: string, previousUntil: number }

/** What operators change of keys. Methods throw StoreUnavailable when the database cannot be asked. */
export interface KeyChanges {
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
}

interface KeyChangesOptions {
  store: Store
  /** The time in milliseconds since 1970. */
  clock: () => number
  /** Called after a key may have changed. */
  onChange: (id: string) => void
}

const defaultGraceMs = 24 * 3_600_000

/** Creates the changes of a store's keys. */
export function createKeyChanges ({ store, clock, onChange }: KeyChangesOptions): KeyChanges {
  /** Behind the lock of the key, so that what two operators change at the same time does not mix. */
  async function change<T> (id: string, work: (queries: Queries, key: StoredKey) => Promise<T>): Promise<T> {
    try {
      return await store.transaction(async (queries) => {
        const key = await lockKey(queries, id)
        if (key === undefined) throw unknownKey(id)
        if (key.revokedAt !== null) throw alreadyRevoked(id)
        return await work(queries, key)
      })
    } finally {
      onChange(id)
    }
  }

  return {
    update: (id, changes) => change(id, async (queries, key) => {
      const { label = key.label, models = key.models } = changes
      const { budget = key.budget, expiresAt = key.expiresAt, limits = key.limits } = changes
      const settings = { label, models, budget, expiresAt, limits }
      refuseWrongSettings(settings)
      await updateKey(queries, id, settings)
      if (budget !== null) await limitBudget(queries, id, budget, clock())
      return toListed({ ...key, ...settings })
    }),

    async rotate (id, { graceMs = defaultGraceMs } = {}) {
      refuseWrongGrace(graceMs)
      return await change(id, async (queries) => {
        const { secret, key } = createToken(id)
        const previousUntil = clock() + graceMs
        await rotateKey(queries, id, hashSecret(secret).toString('hex'), previousUntil)
        return { id, key, previousUntil }
      })
    },

    async revoke (id) {
      try {
        return await revokeKey(store, id, clock())
      } finally {
        onChange(id)
      }
    }
  }
}
