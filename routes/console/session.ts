import type { FastifyRequest } from 'fastify'
import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ConsoleSession, SignIn, SignOut } from '../../schemas/admin/session.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { sessionCookie, sessionIn, withoutSession } from '../../services/keys/sessions/cookie.ts'
import { requireOwnOrigin } from '../../services/keys/sessions/csrf.ts'
import { describeSession, noSession } from '../../services/keys/sessions/describe-session.ts'
import type { BrowserSession } from '../../services/keys/sessions/session.ts'
import { createSignInAttempts } from '../../services/keys/sessions/sign-in-attempts.ts'
import { newToken } from '../../services/keys/sessions/token.ts'
import { GatewayError } from '../../services/shared/errors.ts'

/** `POST`, `GET` and `DELETE /console/session`, and `PUT /console/session/key`. */
const session: FastifyPluginAsyncTypebox = async app => {
  const { sessions, holders } = app
  const attempts = createSignInAttempts(app.store.clock)

  /** Looks a key up. Too many wrong keys do not block valid ones, which may share their address. */
  async function tryKey<Found> ({ ip }: FastifyRequest, find: () => Promise<Found>): Promise<Found> {
    try {
      return await find()
    } catch (error) {
      if (error instanceof GatewayError && error.status === 401) attempts.fail(ip)
      throw error
    }
  }

  async function describe (session: BrowserSession): Promise<ConsoleSession> {
    const operator = await holders.operatorOf(session)
    const payer = await holders.payingKeyOf(session).catch(nullIfRefused)
    return describeSession({ session, operator, payer, csrfToken: sessions.csrfTokenOf(session) })
  }

  app.addHook('onRoute', route => { route.schema = { tags: ['Console'], ...route.schema } })
  const response = { 200: ConsoleSession, ...errorResponses }

  app.post('/session', {
    schema: {
      summary: 'Sign in to the console with a key',
      description: 'Sets a session cookie. After 10 wrong keys from one address within 5 minutes, wrong keys get 429.',
      body: SignIn,
      response: { 201: ConsoleSession, ...errorResponses }
    }
  }, async (request, reply) => {
    const arrival = request.arrival()
    requireOwnOrigin(arrival)
    const token = newToken()
    const holder = await tryKey(request, async () => await holders.holderOf(request.body.key, token))
    const { id } = await holders.operatorOf({ holder, token })
    const session = await sessions.start({ token, holder, actor: id })
    reply.headers({ 'set-cookie': sessionCookie(token, arrival), 'cache-control': 'no-store' })
    return reply.code(201).send(await describe(session))
  })

  app.get('/session', {
    schema: {
      summary: 'Show the console session',
      description: 'Without a session, `signed_in` is false; the status is 200.',
      security: [{}, { session: [] }],
      response
    }
  }, async (request, reply) => {
    const arrival = request.arrival()
    const { cookie } = request.headers
    requireOwnOrigin(arrival)
    reply.header('cache-control', 'no-store')
    const session = await sessions.read(cookie, arrival.isSecure)
    const described = session === null ? null : await describe(session).catch(nullIfRefused)
    const settings = app.models.config().console.oidc
    const oidc = settings === null ? null : { label: settings.label, path: '/console/sign-in/oidc' }
    if (described !== null) return { ...described, oidc }
    if (sessionIn(cookie, arrival.isSecure) !== undefined) reply.header('set-cookie', withoutSession())
    return { ...noSession, oidc }
  })

  app.put('/session/key', {
    schema: {
      summary: 'Choose the user key that pays for requests of the playground',
      description: 'Its account is charged as for any request with that key.',
      security: [{ session: [] }],
      body: SignIn,
      response
    }
  }, async (request, reply) => {
    const session = await app.enterSession(request, reply)
    await holders.operatorOf(session)
    const payer = await tryKey(request, async () => await holders.payerOf(request.body.key))
    reply.header('cache-control', 'no-store')
    return await describe(await sessions.choosePayer(session, payer))
  })

  app.delete('/session', {
    schema: {
      summary: 'Sign out of the console, on all nodes',
      description: 'Ends the session and deletes its cookie; with `everywhere=true`, ends all sessions of the same actor.',
      security: [{ session: [] }],
      querystring: SignOut,
      response: { 204: Type.Null(), ...errorResponses }
    }
  }, async (request, reply) => {
    const session = await app.enterSession(request, reply)
    await (request.query.everywhere === 'true' ? sessions.endAll(session) : sessions.end(session))
    return reply.code(204).header('set-cookie', withoutSession()).send(null)
  })
}

export default session

/** Turns a rejected key into null; rethrows any other error. */
function nullIfRefused (error: unknown): null {
  if (error instanceof GatewayError) return null
  throw error
}
