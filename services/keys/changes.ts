import { gatewayActor, recordChange, type Actor } from '../store/audit.ts'
import { isoTime } from '../shared/iso-time.ts'
import type { Queries, Store } from '../store/store.ts'
import { updateBudgetLimit } from './budgets.ts'
import { alreadyRevoked, unknownKey } from './errors.ts'
import { lockKey, markKeyRevoked, replaceKeySecret, toListedKey, updateKeySettings } from './rows.ts'
import { refuseWrongGrace, refuseWrongSettings, settingsOf, shownSettings } from './settings.ts'
import { createToken, hashSecret } from './authenticate.ts'
import type { KeySettings, ListedKey, StoredKey } from './types.ts'

const defaultGraceMs = 24 * 3_600_000

/**
 * Creates the changes of existing keys. Methods throw StoreUnavailable. Long because its short methods share
 * private state.
 */
export function createKeyChanges (
  { store, clock, onChange }: { store: Store, clock: () => number, onChange: (id: string) => void }
) {
  /** Holds the lock of the key, so that concurrent changes do not overwrite each other. */
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

  async function update (
    queries: Queries, key: StoredKey, changes: Partial<KeySettings>, actor: Actor
  ): Promise<ListedKey> {
    const before = settingsOf(key)
    const settings = { ...before, ...settingsOf(changes) }
    const { budget } = settings
    refuseWrongSettings(settings)
    await updateKeySettings(queries, key.id, settings)
    if (budget !== null) await updateBudgetLimit(queries, key.id, budget, clock())
    const { role, account } = key
    const shown = (settings: KeySettings) => ({ role, account, ...shownSettings(settings) })
    const facts = { before: shown(before), after: shown(settings) }
    await recordChange(queries, { actor, action: 'key.update', target: `key:${key.id}`, ...facts, at: clock() })
    return toListedKey({ ...key, ...settings })
  }

  return {
    /**
     * Applies in every process within 2 s. A new limit includes the spending of the current period. Throws
     * GatewayError 400 for a wrong field, 404 for an unknown key, 409 for a revoked one.
     */
    async update (id: string, changes: Partial<KeySettings>, actor = gatewayActor): Promise<ListedKey> {
      return await change(id, (queries, key) => update(queries, key, changes, actor))
    },

    /**
     * Returns the new `key`; the current secret stays valid for `graceMs`, an older one expires now. Throws
     * GatewayError 400 for a wrong `graceMs`, 404 for an unknown key, 409 for a revoked one.
     */
    async rotate (id: string, { graceMs = defaultGraceMs }: { graceMs?: number } = {}, actor = gatewayActor) {
      refuseWrongGrace(graceMs)
      return await change(id, async (queries) => {
        const { secret, key } = createToken(id)
        const at = clock()
        const previousUntil = at + graceMs
        await replaceKeySecret(queries, id, hashSecret(secret).toString('hex'), previousUntil)
        const after = { previous_until: isoTime(previousUntil) }
        await recordChange(queries, { actor, action: 'key.rotate', target: `key:${id}`, after, at })
        return { id, key, previousUntil }
      })
    },

    /** Applies in every process within 2 s. False if the key is unknown or already revoked. */
    async revoke (id: string, actor = gatewayActor): Promise<boolean> {
      try {
        return await store.transaction(async queries => {
          const at = clock()
          const isRevoked = await markKeyRevoked(queries, id, at)
          const after = { revoked_at: isoTime(at) }
          if (isRevoked) await recordChange(queries, { actor, action: 'key.revoke', target: `key:${id}`, after, at })
          return isRevoked
        })
      } finally {
        onChange(id)
      }
    }
  }
}
