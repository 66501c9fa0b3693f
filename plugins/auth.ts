import bearerAuth from '@fastify/bearer-auth'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { GatewayError } from '../services/errors.ts'
import { createKeys } from '../services/keys/keys.ts'
import type { KeyRecord, Keys } from '../services/keys/keys.ts'
import { missingKey } from '../services/keys/refusals.ts'
import { StoreUnavailable } from '../services/store/store.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The API keys of this gateway. */
    keys: Keys
    /** An onRequest hook for scopes that need a key: sets `request.apiKey` or ends in 401 or 503. */
    authenticate: onRequestHookHandler
  }

  interface FastifyRequest {
    /** The key the request came with; there only behind `app.authenticate`. */
    apiKey: KeyRecord
  }
}

/** Offers `app.authenticate` and the keys it checks as `app.keys`. Every error it gives is a GatewayError. */
export default fp(async (app) => {
  const keys = createKeys(app.store)
  app.decorate('keys', keys)
  app.decorateRequest('apiKey')

  await app.register(bearerAuth, {
    addHook: false,
    keys: [],
    specCompliance: 'rfc6749',
    verifyErrorLogLevel: 'debug',
    auth (key, request) {
      const found = keys.authenticate(key)
      if (!(found instanceof Promise)) {
        request.apiKey = found
        return true
      }
      return found.then((record) => {
        request.apiKey = record
        return true
      })
    }
  })

  const { verifyBearerAuth } = app
  if (verifyBearerAuth === undefined) throw new Error('@fastify/bearer-auth gives no function when it adds a hook')
  app.decorate('authenticate', function authenticate (request, reply, done) {
    const known = knownKey(keys, request.headers.authorization)
    if (known !== undefined) {
      request.apiKey = known
      return done()
    }
    verifyBearerAuth(request, reply, (error) => error === undefined ? done() : done(toGatewayError(error)))
  })
}, { name: 'auth', dependencies: ['store'] })

/**
 * The record of a key that is good and in memory, undefined in every other case. An answer at once keeps the
 * request in one turn of the event loop: a promise would leave its body, which has mostly arrived, to be
 * buffered and read again.
 */
function knownKey (keys: Keys, header: string | undefined): KeyRecord | undefined {
  if (header === undefined || !header.startsWith('Bearer ')) return undefined
  return keys.recall(header.slice('Bearer '.length))
}

function toGatewayError (error: Error): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof StoreUnavailable) {
    return GatewayError.unavailable('The gateway cannot check API keys right now.', { cause: error })
  }
  // What is left with a status is about the header: absent, or of another scheme, which OpenAI calls absent.
  return 'statusCode' in error && error.statusCode === 401 ? missingKey() : GatewayError.internal(error)
}
