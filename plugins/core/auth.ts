import type { Socket } from 'node:net'
import bearerAuth from '@fastify/bearer-auth'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { GatewayError } from '../../services/shared/errors.ts'
import { createKeys } from '../../services/keys/keys.ts'
import type { Keys } from '../../services/keys/keys.ts'
import { missingKey } from '../../services/keys/refusals.ts'
import { readKey, type Credential } from '../../services/keys/token.ts'
import type { KeyRecord } from '../../services/keys/types.ts'
import { StoreUnavailable } from '../../services/store/store.ts'

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
  const credentialOn = createCredentialOn()
  app.decorate('authenticate', function authenticate (request, reply, done) {
    // An answer at once keeps the request in one turn of the event loop: a promise would leave its body,
    // which has mostly arrived, to be buffered and read again.
    const credential = credentialOn(request.raw.socket, request.headers.authorization)
    const known = credential === null ? undefined : keys.cached(credential)
    if (known !== undefined) {
      request.apiKey = known
      return done()
    }
    verifyBearerAuth(request, reply, (error) => error === undefined ? done() : done(toGatewayError(error)))
  })
}, { name: 'auth', dependencies: ['store'] })

/**
 * Reads the key of a request. A client sends the same one again and again, so each connection has what it
 * brought last and its hash, and only another one is hashed.
 */
function createCredentialOn (): (socket: Socket, header: string | undefined) => Credential | null {
  const lastOn = new WeakMap<Socket, { header: string, credential: Credential }>()
  return (socket, header) => {
    if (header === undefined || !header.startsWith('Bearer ')) return null
    const last = lastOn.get(socket)
    if (last !== undefined && isSame(header, last.header)) return last.credential
    const credential = readKey(header.slice('Bearer '.length))
    if (credential !== null) lastOn.set(socket, { header, credential })
    return credential
  }
}

/** In a time that does not tell where two texts of one length differ: a proxy's clients share connections. */
function isSame (one: string, other: string): boolean {
  if (one.length !== other.length) return false
  let difference = 0
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at)
  return difference === 0
}

function toGatewayError (error: Error): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof StoreUnavailable) {
    return GatewayError.unavailable('The gateway cannot check API keys right now.', { cause: error })
  }
  // What is left with a status is about the header: absent, or of another scheme, which OpenAI calls absent.
  return 'statusCode' in error && error.statusCode === 401 ? missingKey() : GatewayError.internal(error)
}
