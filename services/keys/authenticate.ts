import { timingSafeEqual } from 'node:crypto'
import type { KeyRecord, KnownKey, KnownKeys } from './known-keys.ts'
import { expiredKey, incorrectKey, missingKey, revokedKey } from './refusals.ts'
import { hashSecret, parseToken } from './token.ts'

/**
 * Returns the record of a key: at once when it was looked up within the last second, else as a promise.
 * Throws, or rejects with, GatewayError 401 when the key is not good, StoreUnavailable when that cannot be
 * found out.
 */
export type Authenticate = (key: string) => KeyRecord | Promise<KeyRecord>

/** Returns the record of a key that is good and was looked up within the last second, else undefined. */
export type Recall = (key: string) => KeyRecord | undefined

export interface AuthenticateOptions {
  known: KnownKeys
  /** The time in milliseconds since 1970. */
  clock: () => number
  /** Called with the time of a use, about once a minute for each key in use. */
  onUse: (id: string, at: number) => void
}

const useEveryMs = 60_000

/** Creates the check of keys. Hash and comparison are done on every use; secrets are not kept. */
export function createAuthenticate (
  { known, clock, onUse }: AuthenticateOptions
): { authenticate: Authenticate, recall: Recall } {
  function admit (key: string, secretSha256: Buffer, candidate: KnownKey | null): KeyRecord {
    if (candidate === null || !timingSafeEqual(candidate.secretSha256, secretSha256)) throw incorrectKey(key)
    const { record } = candidate
    const now = clock()
    if (record.revokedAt !== null) throw revokedKey(key)
    if (hasExpired(record, now)) throw expiredKey(key)
    noteUse(candidate, now)
    return record
  }

  function noteUse (used: KnownKey, now: number): void {
    if (used.lastUsedAt !== null && now - used.lastUsedAt < useEveryMs) return
    used.lastUsedAt = now
    onUse(used.record.id, now)
  }

  return {
    authenticate (key) {
      if (key === '') throw missingKey()
      const token = parseToken(key)
      if (token === null) throw incorrectKey(key)
      const secretSha256 = hashSecret(token.secret)
      const candidate = known.peek(token.id, clock())
      if (candidate !== undefined) return admit(key, secretSha256, candidate)
      return known.check(token.id).then((found) => admit(key, secretSha256, found))
    },

    recall (key) {
      const token = parseToken(key)
      const now = clock()
      const candidate = token === null ? undefined : known.peek(token.id, now)
      if (token === null || candidate === undefined || candidate === null) return undefined
      if (!timingSafeEqual(candidate.secretSha256, hashSecret(token.secret))) return undefined
      if (candidate.record.revokedAt !== null || hasExpired(candidate.record, now)) return undefined
      noteUse(candidate, now)
      return candidate.record
    }
  }
}

function hasExpired ({ expiresAt }: KeyRecord, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}
