import { EncryptJWT, errors, jwtDecrypt } from 'jose'
import type { SealedSession } from './session.ts'

/** Encrypts and authenticates sessions, so that a browser can neither read nor change its own. */
export type Seal = ReturnType<typeof createSeal>

/** `secret` is 32 bytes in base64url. Sealed texts are JSON Web Encryption, RFC 7516, with A256GCM. */
export function createSeal (secret: string) {
  const key = Buffer.from(secret, 'base64url')
  return {
    seal: async (session: SealedSession): Promise<string> =>
      await new EncryptJWT({ session }).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key),

    /** Returns null for a text that was not sealed with this secret. */
    async open (text: string): Promise<SealedSession | null> {
      try {
        const { payload } = await jwtDecrypt<{ session: SealedSession }>(text, key, {
          keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM']
        })
        return payload.session
      } catch (error) {
        if (error instanceof errors.JOSEError) return null
        throw error
      }
    }
  }
}
