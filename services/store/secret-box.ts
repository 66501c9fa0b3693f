import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export type SecretBox = ReturnType<typeof createSecretBox>

/** The values of TOLLGATE_SECRET_KEY and TOLLGATE_SECRET_KEY_PREVIOUS, null if unset. */
export interface SecretKeys { current: string | null, previous: string | null }

/** An encrypted value is `enc1.<id of the key>.<base64url of iv, tag and text>`. */
const mark = 'enc1.'
const ivBytes = 12
const authTagLength = 16

/**
 * Encrypts the secrets in the database by AES-256-GCM with a key outside the database. A value can be opened
 * only under the name that it was sealed for. Without a current key, values stay unencrypted.
 */
export function createSecretBox ({ current, previous }: SecretKeys) {
  const sealingKey = current === null ? null : deriveKey(current)
  const keys = [sealingKey, previous === null ? null : deriveKey(previous)].filter(key => key !== null)

  function open (name: string, stored: string): string {
    if (!stored.startsWith(mark)) return stored
    const [id = '', text = ''] = stored.slice(mark.length).split('.')
    const key = keys.find(key => key.id === id)
    if (key === undefined) throw missingKey(name, id, keys.map(({ id }) => id))
    const bytes = Buffer.from(text, 'base64url')
    const [iv, tag] = [bytes.subarray(0, ivBytes), bytes.subarray(ivBytes, ivBytes + authTagLength)]
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv, { authTagLength })
      decipher.setAAD(Buffer.from(name)).setAuthTag(tag)
      return decipher.update(bytes.subarray(ivBytes + authTagLength), undefined, 'utf8') + decipher.final('utf8')
    } catch (cause) {
      throw new Error(`The secret ${name} in the database was changed, or moved there from another name.`, { cause })
    }
  }

  function seal (name: string, secret: string): string {
    if (sealingKey === null) return secret
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', sealingKey.bytes, iv, { authTagLength })
    cipher.setAAD(Buffer.from(name))
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
    return `${mark}${sealingKey.id}.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')}`
  }

  return {
    /** Returns the value to store for a secret. */
    seal,
    /** Returns a sealed or unencrypted secret. Throws Error if its key is missing. */
    open,
    /** Whether a stored value is sealed with the current key. */
    isCurrent: (stored: string): boolean =>
      sealingKey === null ? !stored.startsWith(mark) : stored.startsWith(`${mark}${sealingKey.id}.`)
  }
}

/** Source: RFC 5869. The id identifies the key of a value without revealing it. */
function deriveKey (secret: string): { id: string, bytes: Buffer } {
  const derive = (purpose: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', `tollgate ${purpose}`, length))
  return { id: derive('secret key id', 6).toString('hex'), bytes: derive('secret key', 32) }
}

function missingKey (name: string, id: string, present: readonly string[]): Error {
  const given = present.length === 0 ? 'none is set' : `set are ${present.join(' and ')}`
  return new Error(`The secret ${name} in the database is encrypted with the key ${id}; ${given}. Set ` +
    'TOLLGATE_SECRET_KEY, or TOLLGATE_SECRET_KEY_PREVIOUS, to the value that it had before; see docs/secrets.md.')
}
