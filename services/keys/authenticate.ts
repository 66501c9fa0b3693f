import { timingSafeEqual } from 'node:crypto'
import type { KnownKey, KnownKeys } from './known-keys.ts'
import type { KeyRecord } from './record.ts'
import { expiredKey, incorrectKey, missingKey, revokedKey, rotatedKey, wrongRole } from './refusals.ts'
import type { KeyRole } from './rows.ts'
import { readKey, type Credential } from './token.ts'

/**
 * Returns the record of a key of the given role, `user` unless told: at once when it was looked up within the
 * last second, else as a promise. Throws, or rejects with, GatewayError 401 when the key is not good,
 * StoreUnavailable when that cannot be found out.
 */
export type Authenticate = (key: string, role?: KeyRole) => KeyRecord | Promise<KeyRecord>

/**
 * Returns the record of a user's key that is good and was looked up within the last second, else undefined.
 */
export type Recall = (credential: Credential) => KeyRecord | undefined

export interface AuthenticateOptions {
  known: KnownKeys
  /** The time in milliseconds since 1970. */
  clock: () => number
  /** Called with the time of a use, about once a minute for each key in use. */
  onUse: (id: string, at: number) => void
}

const useEveryMs = 60_000

/** Creates the check of keys. Hashes are compared on every use; secrets are not kept. */
export function createAuthenticate (
  { known, clock, onUse }: AuthenticateOptions
): { authenticate: Authenticate, recall: Recall } {
  function admit (key: string, secretSha256: Buffer, candidate: KnownKey | null, role: KeyRole): KeyRecord {
    const now = clock()
    if (candidate === null || !isOf(candidate, secretSha256)) throw incorrectKey(key)
    const { record } = candidate
    if (record.revokedAt !== null) throw revokedKey(key)
    if (!isSecretGood(candidate, secretSha256, now)) throw rotatedKey(key)
    if (hasExpired(record, now)) throw expiredKey(key)
    if (record.role !== role) throw wrongRole(key, role)
    noteUse(candidate, now)
    return record
  }

  /** What was known before may be older than the secret: as unknown it counts only after another question. */
  async function ask (id: string, secretSha256: Buffer): Promise<KnownKey | null> {
    const found = await known.check(id)
    return found === null || isOf(found, secretSha256) ? found : await known.ask(id)
  }

  function noteUse (used: KnownKey, now: number): void {
    if (used.lastUsedAt !== null && now - used.lastUsedAt < useEveryMs) return
    used.lastUsedAt = now
    onUse(used.record.id, now)
  }

  return {
    authenticate (key, role = 'user') {
      if (key === '') throw missingKey()
      const credential = readKey(key)
      if (credential === null) throw incorrectKey(key)
      const { id, secretSha256 } = credential
      const candidate = known.peek(id, clock())
      const isSettled = candidate === null || (candidate !== undefined && isOf(candidate, secretSha256))
      if (isSettled) return admit(key, secretSha256, candidate, role)
      return ask(id, secretSha256).then((found) => admit(key, secretSha256, found, role))
    },

    recall ({ id, secretSha256 }) {
      const now = clock()
      const candidate = known.peek(id, now)
      if (candidate === undefined || candidate === null) return undefined
      const { record } = candidate
      if (!isSecretGood(candidate, secretSha256, now)) return undefined
      if (record.revokedAt !== null || hasExpired(record, now) || record.role !== 'user') return undefined
      noteUse(candidate, now)
      return record
    }
  }
}

/** Whether a secret is or was one of a key. */
function isOf ({ secretSha256, previous }: KnownKey, given: Buffer): boolean {
  if (timingSafeEqual(secretSha256, given)) return true
  return previous !== null && timingSafeEqual(previous.secretSha256, given)
}

/** Whether a secret is that of a key, or the one before it while that still counts. */
function isSecretGood ({ secretSha256, previous }: KnownKey, given: Buffer, now: number): boolean {
  if (timingSafeEqual(secretSha256, given)) return true
  return previous !== null && now < previous.until && timingSafeEqual(previous.secretSha256, given)
}

function hasExpired ({ expiresAt }: KeyRecord, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}
