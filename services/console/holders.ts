import { hash, timingSafeEqual } from 'node:crypto'
import { readKey } from '../keys/authenticate.ts'
import { incorrectKey } from '../keys/errors.ts'
import type { Keys } from '../keys/keys.ts'
import { environmentOperator, operatorOf, type Operator } from '../keys/roles.ts'
import type { KeyRecord } from '../keys/types.ts'
import { GatewayError } from '../shared/errors.ts'
import { noPayer, sessionEnded } from './errors.ts'
import { roleOf, type OidcSettings } from './oidc.ts'
import type { Holder, KeyHolder, OidcHolder, SealedSession } from './session.ts'

export type Holders = ReturnType<typeof createHolders>

/** Finds out who signs in, and on every request whether they still may. Methods throw StoreUnavailable. */
export function createHolders (
  { keys, adminKey, oidc }: {
    keys: Pick<Keys, 'authenticateAny' | 'authenticateDigest'>
    adminKey: string | null
    /** The identity provider of the running configuration. */
    oidc: () => OidcSettings | null
  }
) {
  const proof = adminKey === null ? null : proofOf(adminKey)

  async function recordOf ({ id, secretSha256 }: KeyHolder): Promise<KeyRecord> {
    try {
      return await keys.authenticateDigest({ id, secretSha256: Buffer.from(secretSha256, 'hex') })
    } catch (error) {
      throw error instanceof GatewayError ? sessionEnded() : error
    }
  }

  /** Whether it is the admin key of the environment. */
  const isAdminKey = (key: string): boolean => proof !== null && isEqual(proof, proofOf(key))

  return {
    recordOf,
    isAdminKey,

    /** Returns the holder of a key of any role. Throws GatewayError 401. */
    async holderOf (key: string): Promise<Holder> {
      if (proof !== null && isAdminKey(key)) return { kind: 'environment', proof }
      await keys.authenticateAny(key)
      return keyHolder(key)
    },

    /** Returns the user whose key it is. Throws GatewayError 401 for other keys. */
    async payerOf (key: string): Promise<KeyHolder> {
      const { role } = await keys.authenticateAny(key)
      if (role !== 'user') throw incorrectKey(key)
      return keyHolder(key)
    },

    /** Returns who a session acts as. Throws GatewayError 401 once its key is no longer valid. */
    async operatorOf ({ holder }: SealedSession): Promise<Operator> {
      if (holder.kind === 'key') return operatorOf(await recordOf(holder))
      if (holder.kind === 'oidc') return personOf(holder, oidc())
      if (proof === null || !isEqual(proof, holder.proof)) throw sessionEnded()
      return environmentOperator
    },

    /** Returns the key that pays for a session's requests to `/v1`. Throws GatewayError 401 or 403. */
    async payingKeyOf ({ holder, payer }: SealedSession): Promise<KeyRecord> {
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

function proofOf (key: string): string {
  return hash('sha256', `console|${key}`, 'hex')
}

/** Digests have one length, so the comparison does not reveal that of the key. */
function isEqual (one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
