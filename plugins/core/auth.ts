import { hash, timingSafeEqual } from 'node:crypto'
import bearerAuth, { type FastifyBearerAuthOptions } from '@fastify/bearer-auth'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { speaksMessages } from '../../services/http/messages-error.ts'
import { createKeys, type Keys } from '../../services/keys/keys.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { incorrectKey, missingKey, twoKeys } from '../../services/keys/errors.ts'
import type { Operator } from '../../services/keys/roles.ts'
import type { KeyRecord } from '../../services/keys/types.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The API keys of this gateway. */
    keys: Keys
    /** An onRequest hook for scopes that need a user's key: sets `request.apiKey` or ends in 401 or 503. */
    authenticate: onRequestHookHandler
    /**
     * An onRequest hook before `authenticate`, for clients of the Messages API, which send their key in
     * `x-api-key`: either header will do. Ends in 401 if they name two keys.
     */
    takeApiKey: onRequestHookHandler
    /** An onRequest hook for scopes of operators: sets `request.actor` or ends in 401 or 503. */
    authenticateAdmin: onRequestHookHandler
  }

  interface FastifyRequest {
    /** The key of the request; set only behind `app.authenticate`. */
    apiKey: KeyRecord
    /** The operator; set only behind `app.authenticateAdmin`. */
    actor: Operator
  }
}

interface AuthOptions {
  /** A key that is valid besides the admin keys of the database; null for none. */
  adminKey?: string | null
}

/** Offers `app.authenticate`, `app.authenticateAdmin` and the keys that they check as `app.keys`. */
export default fp<AuthOptions>(async (app, { adminKey = null }) => {
  const keys = createKeys(app.store)
  app.decorate('keys', keys)
  app.decorateRequest('apiKey')
  app.decorateRequest('actor')
  await app.register(bearerAuth, { addHook: false, keys: [] })
  const createVerifier = app.verifyBearerAuthFactory
  if (createVerifier === undefined) throw new Error('@fastify/bearer-auth has not decorated the server')
  const verifyWith = (auth: FastifyBearerAuthOptions['auth']): onRequestHookHandler =>
    createVerifier({ addHook: false, keys: [], specCompliance: 'rfc6749', verifyErrorLogLevel: 'debug', auth })

  app.decorate('authenticate', verifyWith((key, request) => {
    const found = keys.authenticate(key)
    if (found instanceof Promise) return found.then(record => setKey(request, record))
    return setKey(request, found)
  }))

  app.decorate('takeApiKey', function takeApiKey (request, _reply, done) {
    const { raw: { headers } } = request
    const { 'x-api-key': key, authorization } = headers
    if (key === undefined || !speaksMessages(request)) return done()
    const bearer = `Bearer ${String(key)}`
    if (authorization !== undefined && authorization.replace(/^bearer +/i, 'Bearer ') !== bearer) return done(twoKeys())
    headers.authorization = bearer
    done()
  })

  const expected = adminKey === null ? null : sha256(adminKey)
  app.decorate('authenticateAdmin', verifyWith(async (key, request) => {
    if (key === '') throw missingKey()
    // Digests have one length, so the comparison does not reveal that of the key.
    const isExpected = expected !== null && timingSafeEqual(expected, sha256(key))
    if (isExpected) return setActor(request, environmentActor)
    try {
      const { id, label, role } = await keys.authenticateAdmin(key)
      return setActor(request, { id: `key:${id}`, label, role })
    } catch (error) {
      throw error instanceof GatewayError ? incorrectKey(key) : error
    }
  }))
}, { name: 'auth', dependencies: ['store'] })

function setKey (request: { apiKey: KeyRecord }, record: KeyRecord): true {
  request.apiKey = record
  return true
}

const environmentActor: Operator = { id: 'env', label: null, role: 'owner' }

function setActor (request: { actor: Operator }, actor: Operator): true {
  request.actor = actor
  return true
}

function sha256 (text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
