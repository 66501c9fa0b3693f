/** Encrypts and authenticates what a browser keeps, so that it can neither read nor change it. */
export type Seal<Value> = ReturnType<typeof createSeal<Value>>

/**
 * `secret` is 32 bytes in base64url. A text that was sealed for another purpose does not open. Sealed texts
 * are JSON Web Encryption, RFC 7516, with A256GCM.
 */
export function createSeal<Value> (secret: string, purpose: string) {
  const key = Buffer.from(secret, 'base64url')
  return {
    async seal (value: Value): Promise<string> {
      const { EncryptJWT } = await loadJose()
      const token = new EncryptJWT({ value }).setAudience(purpose)
      return await token.setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key)
    },

    /** Returns null for a text that was not sealed like this. */
    async open (text: string): Promise<Value | null> {
      const { errors, jwtDecrypt } = await loadJose()
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

/** Loaded by the first session: a node without readers of the console starts sooner. */
const loadJose = async () => await import('jose')
