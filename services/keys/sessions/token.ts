import { createHmac, hash, randomBytes } from 'node:crypto'

/** Returns a new token, 256 random bits in base64url, which only the browser keeps. */
export function newToken (): string {
  return randomBytes(32).toString('base64url')
}

/** Returns the SHA-256 of a token, for the database. 256 random bits need no salt. */
export function tokenDigest (token: string): string {
  return hash('sha256', token, 'hex')
}

/** Returns 256 bits in base64url that only the bearer of a token can compute, different for each purpose. */
export function derivedFrom (token: string, purpose: string): string {
  return createHmac('sha256', token).update(purpose).digest('base64url')
}
