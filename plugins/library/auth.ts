import bearerAuth, { type FastifyBearerAuthOptions } from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { sessionIn } from '../../services/keys/sessions/cookie.ts'
import { createHolders, type Holders } from '../../services/keys/sessions/holders.ts'
import { consoleDefaults, type ConsoleSettings } from '../../schemas/config/console.ts'
import { speaksMessages } from '../../services/http/messages-error.ts'
import { identifiedKey } from '../../services/keys/identified-key.ts'
import { createKeys, type Keys } from '../../services/keys/keys.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { incorrectKey, missingKey, twoKeys } from '../../services/keys/errors.ts'
import { environmentOperator, operatorOf, requirePermission, type Operator } from '../../services/keys/roles.ts'
import type { KeyRecord } from '../../services/keys/types.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The API keys of this gateway. */
    keys: Keys
    /** An onRequest hook for scopes that need a user's key: sets `request.apiKey` or ends in 401 or 503. */
    authenticate: onRequestHookHandler
    /**
     * An onRequest hook before `authenticate`, for clients that send their key in another header: `x-api-key`
     * for the Messages API, `api-key` for Azure. Ends in 401 if two headers have different keys.
     */
    takeApiKey: onRequestHookHandler
    /** An onRequest hook for scopes of operators: sets `request.actor` or ends in 401 or 503. */
    authenticateAdmin: onRequestHookHandler
    /** The same, also for users with a session, who may read their account. */
    authenticateReader: onRequestHookHandler
    /** The holders of console sessions. */
    holders: Holders
  }

  interface FastifyRequest {
    /** The key of the request; set only behind `app.authenticate`. */
    apiKey: KeyRecord
    /** The operator; set only behind `app.authenticateAdmin` and `app.authenticateReader`. */
    actor: Operator
  }
}

interface AuthOptions {
  /** An admin key besides those in the database, or null. */
  adminKey?: string | null
  /** The running configuration: without a console, sessions are rejected. */
  console?: () => ConsoleSettings
}

/** Provides `app.authenticate` and `app.authenticateAdmin`, and their keys as `app.keys`. */
export default fp<AuthOptions>(async (app, { adminKey = null, console = () => consoleDefaults }) => {
  const keys = createKeys(app.store)
  app.decorate('keys', keys)
  app.decorateRequest('apiKey')
  app.decorateRequest('actor')
  await app.register(bearerAuth, { addHook: false, keys: [] })
  const createVerifier = app.verifyBearerAuthFactory
  if (createVerifier === undefined) throw new Error('@fastify/bearer-auth has not decorated the server')
  const holders = createHolders({ keys, adminKey, oidc: () => console().oidc })
  app.decorate('holders', holders)
  const verifyWith = (auth: FastifyBearerAuthOptions['auth']): onRequestHookHandler =>
    createVerifier({ addHook: false, keys: [], specCompliance: 'rfc6749', verifyErrorLogLevel: 'debug', auth })

  const withUserKey = verifyWith(async (key, request) => setKey(request, await keys.authenticate(key)))
  const orSession = (withKey: onRequestHookHandler, withSession: SessionHook): onRequestHookHandler => {
    const authenticate = keyOrSession(() => console().enabled, withKey, withSession)
    return function (request, reply, done) {
      // Reads still succeed; the writes of a new request would be lost.
      if (app.store.lost != null && request.method !== 'GET') return done(app.store.lost)
      authenticate.call(this, request, reply, done)
    }
  }
  app.decorate('authenticate', orSession(afterPlugins(app, withUserKey), async (request, reply) => {
    const session = await app.enterSession(request, reply, true)
    setKey(request, await holders.payingKeyOf(session))
  }))

  app.decorate('takeApiKey', function takeApiKey (request, _reply, done) {
    const { raw: { headers } } = request
    const { authorization } = headers
    const name = speaksMessages(request) ? 'x-api-key' : 'api-key'
    const key = headers[name]
    if (key === undefined) return done()
    const bearer = `Bearer ${String(key)}`
    if (authorization !== undefined && authorization.replace(/^bearer +/i, 'Bearer ') !== bearer) return done(twoKeys(name))
    headers.authorization = bearer
    done()
  })

  const withAdminKey = verifyWith(async (key, request) => {
    if (key === '') throw missingKey()
    if (holders.isAdminKey(key)) return setActor(request, environmentOperator)
    try {
      return setActor(request, operatorOf(await keys.authenticateAdmin(key)))
    } catch (error) {
      throw error instanceof GatewayError ? incorrectKey(key) : error
    }
  })
  const actorOf = async (request: FastifyRequest, reply: FastifyReply) =>
    await holders.operatorOf(await app.enterSession(request, reply))
  app.decorate('authenticateReader', orSession(withAdminKey, async (request, reply) => {
    setActor(request, await actorOf(request, reply))
  }))
  app.decorate('authenticateAdmin', orSession(withAdminKey, async (request, reply) => {
    const actor = await actorOf(request, reply)
    requirePermission(actor, 'read')
    setActor(request, actor)
  }))
}, { name: 'auth', dependencies: ['store', 'accounts', 'sessions', 'extensions'] })

type SessionHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Returns a hook that lets the plugins decide who sends a request, then the keys. */
function afterPlugins (
  { extensions, keys, accounts }: FastifyInstance, withKey: onRequestHookHandler
): onRequestHookHandler {
  if (extensions?.hasLogins !== true) return withKey
  const { identify } = extensions
  async function identified (request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const user = await identify(request, reply)
    return user !== null && setKey(request, await identifiedKey({ keys, accounts }, user))
  }
  return function (request, reply, done) {
    identified(request, reply).then(isKnown => {
      if (isKnown) done()
      else withKey.call(this, request, reply, done)
    }, done)
  }
}

/** Returns a hook that accepts a key, or a session if a browser sends its cookie and no key. */
function keyOrSession (
  hasConsole: () => boolean, withKey: onRequestHookHandler, withSession: SessionHook
): onRequestHookHandler {
  return function authenticate (request, reply, done) {
    const { authorization, cookie } = request.headers
    const hasSession = authorization === undefined && cookie !== undefined && hasConsole() &&
      sessionIn(cookie, request.arrival().isSecure) !== undefined
    if (!hasSession) return withKey.call(this, request, reply, done)
    withSession(request, reply).then(() => done(), done)
  }
}

function setKey (request: { apiKey: KeyRecord }, record: KeyRecord): true {
  request.apiKey = record
  return true
}

function setActor (request: { actor: Operator }, actor: Operator): true {
  request.actor = actor
  return true
}
