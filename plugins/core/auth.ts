import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { sessionIn } from '../../services/console/cookie.ts'
import { createHolders, type Holders } from '../../services/console/holders.ts'
import { consoleDefaults, type ConsoleSettings } from '../../schemas/config/console.ts'
import { speaksMessages } from '../../services/http/messages-error.ts'
import { createKeys, type Keys } from '../../services/keys/keys.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { readBearer } from '../../services/keys/authenticate.ts'
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
     * An onRequest hook before `authenticate`, for clients of the Messages API, which send their key in
     * `x-api-key`: either header will do. Ends in 401 if they name two keys.
     */
    takeApiKey: onRequestHookHandler
    /** An onRequest hook for scopes of operators: sets `request.actor` or ends in 401 or 503. */
    authenticateAdmin: onRequestHookHandler
    /** The same, and for users with a session, who may read their own account. */
    authenticateReader: onRequestHookHandler
    /** Who signs in to the console. */
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
  /** A key that is valid besides the admin keys of the database; null for none. */
  adminKey?: string | null
  /** The running configuration: without a console, no session counts. */
  console?: () => ConsoleSettings
}

/** Offers `app.authenticate`, `app.authenticateAdmin` and the keys that they check as `app.keys`. */
export default fp<AuthOptions>(async (app, { adminKey = null, console = () => consoleDefaults }) => {
  const keys = createKeys(app.store)
  app.decorate('keys', keys)
  app.decorateRequest('apiKey')
  app.decorateRequest('actor')
  const holders = createHolders({ keys, adminKey, oidc: () => console().oidc })
  app.decorate('holders', holders)

  const withUserKey = verifyWith((key, request) => {
    const found = keys.authenticate(key)
    if (found instanceof Promise) return found.then(record => { request.apiKey = record })
    request.apiKey = found
  })
  const orSession = (
    withKey: onRequestHookHandler, withSession: SessionHook
  ) => keyOrSession(() => console().enabled, withKey, withSession)
  app.decorate('authenticate', orSession(withUserKey, async (request, reply) => {
    const session = await app.enterSession(request, reply, true)
    request.apiKey = await holders.payingKeyOf(session)
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

  const withAdminKey = verifyWith(async (key, request) => {
    if (key === '') throw missingKey()
    try {
      const isEnvironment = holders.isAdminKey(key)
      request.actor = isEnvironment ? environmentOperator : operatorOf(await keys.authenticateAdmin(key))
    } catch (error) {
      throw error instanceof GatewayError ? incorrectKey(key) : error
    }
  })
  const actorOf = async (request: FastifyRequest, reply: FastifyReply) =>
    await holders.operatorOf(await app.enterSession(request, reply))
  app.decorate('authenticateReader', orSession(withAdminKey, async (request, reply) => {
    request.actor = await actorOf(request, reply)
  }))
  app.decorate('authenticateAdmin', orSession(withAdminKey, async (request, reply) => {
    const actor = await actorOf(request, reply)
    requirePermission(actor, 'read')
    request.actor = actor
  }))
}, { name: 'auth', dependencies: ['store', 'sessions'] })

/** `key` is the bearer token of the request. */
type KeyCheck = (key: string, request: FastifyRequest) => void | Promise<void>

/** Returns a hook that checks the key of a request: at once if the check does. */
function verifyWith (check: KeyCheck): onRequestHookHandler {
  return function verify (request, _reply, done) {
    let checked: void | Promise<void>
    try {
      checked = check(readBearer(request.headers), request)
    } catch (error) {
      return done(error instanceof Error ? error : new Error(String(error)))
    }
    if (checked === undefined) done()
    else checked.then(() => done(), done)
  }
}

type SessionHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Returns a hook that takes a key, or a session where a browser sends its cookie and no key. */
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
