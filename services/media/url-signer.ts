import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SecretBox } from '../store/secret-box.ts'
import { sharedSecret } from '../store/secrets.ts'
import type { Store } from '../store/store.ts'

/** Signs and verifies media URLs, which need no API key. */
export type UrlSigner = ReturnType<typeof createUrlSigner>

/** Signs with the first key and verifies with all, so that URLs stay valid when the key is rotated. */
export function createUrlSigner (keys: readonly [string, ...string[]]) {
  return {
    /** `expiresS` is in Unix seconds, as in the URL. */
    sign: (id: string, expiresS: string): string => digest(keys[0], id, expiresS).toString('base64url'),
    verify (id: string, expiresS: string, signature: string): boolean {
      const given = Buffer.from(signature, 'base64url')
      // Base64 is malleable: accept the canonical encoding only.
      if (given.toString('base64url') !== signature) return false
      return keys.some(key => {
        const own = digest(key, id, expiresS)
        return own.length === given.length && timingSafeEqual(own, given)
      })
    }
  }
}

/** Returns the URL of a file below the base URL of the API, e.g. `https://gateway.example.com/v1`. */
export function signedUrl (
  signer: Pick<UrlSigner, 'sign'>,
  { id, extension, expiresAt }: { id: string, extension: string, expiresAt: number },
  base: string
): string {
  const expiresS = String(Math.floor(expiresAt / 1000))
  return `${base}/media/${id}.${extension}?exp=${expiresS}&sig=${signer.sign(id, expiresS)}`
}

function digest (key: string, id: string, expiresS: string): Buffer {
  return createHmac('sha256', key).update(`${id}|${expiresS}`).digest()
}

/** The key shared by all nodes on one database, created on first use. Throws StoreUnavailable. */
export async function sharedSigningKey (store: Store, box: SecretBox): Promise<string> {
  return await sharedSecret(store, box, 'media-signing-key')
}
