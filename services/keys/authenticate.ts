import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { CachedKey, KeyCache } from './cache.ts'
import { expiredKey, incorrectKey, missingKey, notAdmin, notUser, revokedKey, rotatedKey } from './errors.ts'
import type { AdminRole } from './roles.ts'
import type { KeyRecord } from './types.ts'

const reportUseEveryMs = 60_000

/**
 * Creates the authentication by keys. Every use compares hashes; secrets are not kept. Long because its short
 * methods share private state.
 */
export function createAuthenticator (
  { cache, clock, onUse }: { cache: KeyCache, clock: () => number, onUse: (id: string, at: number) => void }
) {
  function check (key: string, found: CachedKey | null, secret: Secret): KeyRecord {
    const now = clock()
    if (found === null || secret === 'none') throw incorrectKey(key)
    const { record, previous } = found
    if (record.revokedAt !== null) throw revokedKey(key)
    if (secret === 'previous' && now >= (previous?.until ?? 0)) throw rotatedKey(key)
    if (record.expiresAt !== null && record.expiresAt <= now) throw expiredKey(key)
    reportUse(found, now)
    return record
  }

  /** A cached entry may be older than the secret, so a mismatch counts only after another query. */
  async function load (id: string, secretSha256: Buffer): Promise<CachedKey | null> {
    const found = await cache.load(id)
    return found === null || secretOf(found, secretSha256) !== 'none' ? found : await cache.reload(id)
  }

  function reportUse (used: CachedKey, now: number): void {
    if (used.lastUsedAt !== null && now - used.lastUsedAt < reportUseEveryMs) return
    used.lastUsedAt = now
    onUse(used.record.id, now)
  }

  async function find (key: string): Promise<KeyRecord> {
    if (key === '') throw missingKey()
    const credential = readKey(key)
    if (credential === null) throw incorrectKey(key)
    return await findBy(credential, key)
  }

  async function findBy ({ id, secretSha256 }: Credential, key: string): Promise<KeyRecord> {
    const found = cache.peek(id, clock())
    const secret = secretOf(found, secretSha256)
    if (found === null || (found !== undefined && secret !== 'none')) return check(key, found, secret)
    const loaded = await (found === undefined ? load(id, secretSha256) : cache.reload(id))
    return check(key, loaded, secretOf(loaded, secretSha256))
  }

  return {
    /**
     * The record of a user's key, from memory if it was verified within the last second. Throws GatewayError
     * 401 for an invalid key and StoreUnavailable. A key that was valid within the last minute keeps working
     * during a database outage.
     */
    async authenticate (key: string): Promise<KeyRecord> {
      const record = await find(key)
      if (record.role !== 'user') throw notUser(key)
      return record
    },

    /** The same for an admin key. */
    async authenticateAdmin (key: string): Promise<KeyRecord & { role: AdminRole }> {
      const record = await find(key)
      const { role } = record
      if (role === 'user') throw notAdmin(key)
      return { ...record, role }
    },

    /** The same for a key of any role. */
    async authenticateAny (key: string): Promise<KeyRecord> {
      return await find(key)
    },

    /**
     * The same for the user's key of an id, whose holder was identified otherwise; null if there is none.
     * `isFresh` queries the database.
     */
    async authenticateId (id: string, isFresh = false): Promise<KeyRecord | null> {
      const found = isFresh ? undefined : cache.peek(id, clock())
      const loaded = found === undefined ? await (isFresh ? cache.reload(id) : cache.load(id)) : found
      if (loaded === null) return null
      const record = check(id, loaded, 'present')
      if (record.role !== 'user') throw notUser(id)
      return record
    },

    /** The same for the digest of a key, as `readKey` returns it. */
    async authenticateDigest (credential: Credential): Promise<KeyRecord> {
      return await findBy(credential, '')
    }
  }
}

/** Which of a key's secrets was presented. */
type Secret = 'present' | 'previous' | 'none'

function secretOf (found: CachedKey | null | undefined, given: Buffer): Secret {
  if (found == null) return 'none'
  if (timingSafeEqual(found.secretSha256, given)) return 'present'
  const { previous } = found
  return previous !== null && timingSafeEqual(previous.secretSha256, given) ? 'previous' : 'none'
}

/** `sk-tg-<id>-<secret>`: the id selects the key's row, only the client knows the secret. */
export interface Token { id: string, secret: string }

const prefix = 'sk-tg-'
const idBytes = 8
const secretBytes = 24
const pattern = /^sk-tg-([0-9A-Za-z]{12,32})-([0-9A-Za-z]{32,128})$/

/** Creates a key with 64 random bits of id and 192 of secret, in hexadecimal; a given id is kept. */
export function createToken (id = randomBytes(idBytes).toString('hex')): Token & { key: string } {
  const secret = randomBytes(secretBytes).toString('hex')
  return { id, secret, key: `${prefix}${id}-${secret}` }
}

/** A key in parsed form: its id and the 32-byte SHA-256 of its secret. */
export interface Credential { id: string, secretSha256: Buffer }

/** Parses a key; null if it is malformed. */
export function readKey (key: string): Credential | null {
  const [, id, secret] = pattern.exec(key) ?? []
  return id === undefined || secret === undefined ? null : { id, secretSha256: hashSecret(secret) }
}

/** Returns the 32-byte SHA-256 of a secret. 192 random bits need no salt and no key stretching. */
export function hashSecret (secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
