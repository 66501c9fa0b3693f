import { hash, randomBytes } from 'node:crypto'

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

/** Parses a key; null if it is malformed. */
export function readKey (key: string): { id: string, secretSha256: Buffer } | null {
  const [, id, secret] = pattern.exec(key) ?? []
  return id === undefined || secret === undefined ? null : { id, secretSha256: hashSecret(secret) }
}

/** Returns the 32-byte SHA-256 of a secret. 192 random bits need no salt and no key stretching. */
export function hashSecret (secret: string): Buffer {
  // Hashing to hexadecimal text is twice as fast as hashing to a buffer.
  return Buffer.from(hash('sha256', secret, 'hex'), 'hex')
}

/** Shortens a key for messages, e.g. `sk-tg-ab****wxyz`; a short text is masked completely. */
export function maskKey (key: string): string {
  const shown = { first: 8, last: 4 }
  if (key.length < 2 * (shown.first + shown.last)) return '****'
  return `${key.slice(0, shown.first)}****${key.slice(-shown.last)}`
}
