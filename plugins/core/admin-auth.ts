import { hash, timingSafeEqual } from 'node:crypto'
import type { onRequestAsyncHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { GatewayError } from '../../services/shared/errors.ts'
import { incorrectKey, missingKey } from '../../services/keys/refusals.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** An onRequest hook for scopes that only operators may enter: ends in 401 for everybody else. */
    authenticateAdmin: onRequestAsyncHookHandler
  }
}

export interface AdminAuthOptions {
  /** A key that is good besides the admin keys of the database; null for none. */
  adminKey: string | null
}

/** Offers `app.authenticateAdmin`. Whatever is wrong with a key, the refusal is the same. */
export default fp<AdminAuthOptions>(async (app, { adminKey }) => {
  const expected = adminKey === null ? null : sha256(adminKey)

  app.decorate('authenticateAdmin', async function authenticateAdmin ({ headers }) {
    const [, key] = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? []
    if (key === undefined) throw missingKey()
    // Digests are of one length, so the comparison tells nothing about that of the key.
    if (expected !== null && timingSafeEqual(expected, sha256(key))) return
    try {
      await app.keys.authenticate(key, 'admin')
    } catch (error) {
      throw error instanceof GatewayError ? incorrectKey(key) : error
    }
  })
}, { name: 'admin-auth', dependencies: ['auth'] })

function sha256 (text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
