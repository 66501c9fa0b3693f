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

export interface AuthenticateOptions {
  known: KnownKeys
  /** The time in milliseconds since 1970. */
  clock: () => number
  /** Called with the time of a use, about once a minute for each key in use. */
  onUse: (id: string, at: number) => void
}

const useEveryMs = 60_000

/** Creates the check of keys. Hash and comparison are done on every use; secrets are not kept. */
export function createAuthenticate ({ known, clock, onUse }: AuthenticateOptions): Authenticate {
  function admit (key: string, secretSha256: Buffer, candidate: KnownKey | null): KeyRecord {
    if (candidate === null || !timingSafeEqual(candidate.secretSha256, secretSha256)) throw incorrectKey(key)
    const { record } = candidate
    const now = clock()
    if (record.revokedAt !== null) throw revokedKey(key)
    if (record.expiresAt !== null && record.expiresAt <= now) throw expiredKey(key)
    if (candidate.lastUsedAt === null || now - candidate.lastUsedAt >= useEveryMs) {
      candidate.lastUsedAt = now
      onUse(record.id, now)
    }
    return record
  }

  return (key) => {
    if (key === '') throw missingKey()
    const token = parseToken(key)
    if (token === null) throw incorrectKey(key)
    const secretSha256 = hashSecret(token.secret)
    const candidate = known.peek(token.id, clock())
    if (candidate !== undefined) return admit(key, secretSha256, candidate)
    return known.check(token.id).then((found) => admit(key, secretSha256, found))
  }
}
