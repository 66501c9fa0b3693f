import { EncryptJWT, errors, jwtDecrypt } from 'jose'

/** Encrypts and authenticates what a browser keeps, so that it can neither read nor change it. */
export type Seal<Value> = ReturnType<typeof createSeal<Value>>

/**
 * `secret` is 32 bytes in base64url. A text that was sealed for another purpose does not open. Sealed texts
 * are JSON Web Encryption, RFC 7516, with A256GCM.
 */
export function createSeal<Value> (secret: string, purpose: string) {
  const key = Buffer.from(secret, 'base64url')
  return {
    seal: async (value: Value): Promise<string> =>
      await new EncryptJWT({ value }).setAudience(purpose).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key),

    /** Returns null for a text that was not sealed like this. */
    async open (text: string): Promise<Value | null> {
      try {
        const { payload } = await jwtDecrypt<{ value: Value }>(text, key, {
          audience: purpose, keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM']
        })
        return payload.value
      } catch (error) {
        if (error instanceof errors.JOSEError) return null
        throw error
      }
    }
  }
}
