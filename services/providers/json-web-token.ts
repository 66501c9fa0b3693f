import type { JsonObject } from '../shared/json.ts'

/** A JSON Web Token; `sign` returns the signature of its first two parts. Source: RFC 7519 and RFC 7515. */
export function createJwt (header: JsonObject, claims: JsonObject, sign: (text: Buffer) => Buffer): string {
  const text = [header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${sign(Buffer.from(text)).toString('base64url')}`
}
