import { hash, randomBytes } from 'node:crypto'

/** `sk-tg-<id>-<secret>`: the id finds the key's row, the secret is known to the client alone. */
export interface Token { id: string, secret: string }

/** What a check of a key needs of it: the secret itself is not among that. */
export interface Credential { id: string, secretSha256: Buffer }

const prefix = 'sk-tg-'
const idBytes = 8
const secretBytes = 24
const pattern = /^sk-tg-([0-9A-Za-z]{12,32})-([0-9A-Za-z]{32,128})$/

/**
 * Creates a random key, with 64 bits of id and 192 bits of secret, both in hexadecimal; given an id, only the
 * secret is new.
 */
export function createToken (id = randomBytes(idBytes).toString('hex')): Token & { key: string } {
  const secret = randomBytes(secretBytes).toString('hex')
  return { id, secret, key: `${prefix}${id}-${secret}` }
}

/** Reads a key; null when it does not have the form of one. */
export function readKey (key: string): Credential | null {
  const [, id, secret] = pattern.exec(key) ?? []
  return id === undefined || secret === undefined ? null : { id, secretSha256: hashSecret(secret) }
}

/**
 * Returns the 32 bytes that are kept of a secret. No salt and no stretching: nobody guesses 192 random bits.
 */
export function hashSecret (secret: string): Buffer {
  // By way of the hexadecimal text, which is twice as fast as asking for bytes.
  return Buffer.from(hash('sha256', secret, 'hex'), 'hex')
}

/**
 * Shortens a key for messages, e.g. `sk-tg-ab****wxyz`; what is too short to be shortened is hidden
 * altogether.
 */
export function maskKey (key: string): string {
  const shown = { first: 8, last: 4 }
  if (key.length < 2 * (shown.first + shown.last)) return '****'
  return `${key.slice(0, shown.first)}****${key.slice(-shown.last)}`
}
