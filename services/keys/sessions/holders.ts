import { hash, timingSafeEqual } from 'node:crypto'
import { readKey } from '../authenticate.ts'
import { incorrectKey } from '../errors.ts'
import type { Keys } from '../keys.ts'
import { environmentOperator, operatorOf, type Operator } from '../roles.ts'
import type { KeyRecord } from '../types.ts'
import { GatewayError } from '../../shared/errors.ts'
import { noPayer, sessionEnded } from './errors.ts'
import { roleOf, type OidcSettings } from './oidc.ts'
import type { BrowserSession, Holder, KeyHolder, OidcHolder } from './session.ts'
import { derivedFrom } from './token.ts'

export type Holders = ReturnType<typeof createHolders>

/** Identifies the holder of a session, at sign-in and on every request. Methods throw StoreUnavailable. */
export function createHolders (
  { keys, adminKey, oidc }: {
    keys: Pick<Keys, 'authenticateAny' | 'authenticateDigest'>
    adminKey: string | null
    /** The identity provider of the running configuration. */
    oidc: () => OidcSettings | null
  }
) {
  async function recordOf ({ id, secretSha256 }: KeyHolder): Promise<KeyRecord> {
    try {
      return await keys.authenticateDigest({ id, secretSha256: Buffer.from(secretSha256, 'hex') })
    } catch (error) {
      throw error instanceof GatewayError ? sessionEnded() : error
    }
  }

  /** Whether it is the admin key of the environment. */
  const isAdminKey = (key: string): boolean => adminKey !== null && isEqual(key, adminKey)

  return {
    recordOf,
    isAdminKey,

    /** Returns the holder of a key of any role, for the session of `token`. Throws GatewayError 401. */
    async holderOf (key: string, token: string): Promise<Holder> {
      if (isAdminKey(key)) return { kind: 'environment', proof: proofOf(key, token) }
      await keys.authenticateAny(key)
      return keyHolder(key)
    },

    /** Returns the user of a key. Throws GatewayError 401 for other keys. */
    async payerOf (key: string): Promise<KeyHolder> {
      const { role } = await keys.authenticateAny(key)
      if (role !== 'user') throw incorrectKey(key)
      return keyHolder(key)
    },

    /** Returns the actor of a session. Throws GatewayError 401 once its key is no longer valid. */
    async operatorOf ({ holder, token }: Pick<BrowserSession, 'holder' | 'token'>): Promise<Operator> {
      if (holder.kind === 'key') return operatorOf(await recordOf(holder))
      if (holder.kind === 'oidc') return personOf(holder, oidc())
      if (adminKey === null || !isEqual(proofOf(adminKey, token), holder.proof)) throw sessionEnded()
      return environmentOperator
    },

    /** Returns the key that pays for a session's requests to `/v1`. Throws GatewayError 401 or 403. */
    async payingKeyOf ({ holder, payer }: BrowserSession): Promise<KeyRecord> {
      const own = holder.kind === 'key' ? await recordOf(holder) : null
      if (own?.role === 'user') return own
      if (payer === null) throw noPayer()
      return await recordOf(payer)
    }
  }
}

function personOf ({ issuer, subject, label, groups }: OidcHolder, settings: OidcSettings | null): Operator {
  const role = settings?.issuer === issuer ? roleOf(settings, groups) : null
  if (role === null) throw sessionEnded()
  return { id: `oidc:${subject}`, label, role, account: null }
}

function keyHolder (key: string): KeyHolder {
  const credential = readKey(key)
  if (credential === null) throw incorrectKey(key)
  return { kind: 'key', id: credential.id, secretSha256: credential.secretSha256.toString('hex') }
}

/** Without the session's token, the admin key cannot be guessed from a row. */
function proofOf (adminKey: string, token: string): string {
  return derivedFrom(token, `admin-key|${adminKey}`)
}

/** Compares digests of equal length, so that the time does not reveal the length of a secret. */
function isEqual (one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}
