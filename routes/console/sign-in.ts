import type { FastifyRequest } from 'fastify'
import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { recordChange } from '../../services/store/audit.ts'
import { attemptCookie, attemptIn, sessionCookie } from '../../services/keys/sessions/cookie.ts'
import { noIdentityProvider, signInFailed } from '../../services/keys/sessions/errors.ts'
import { createOidc, roleOf, signInMs, type OidcSettings } from '../../services/keys/sessions/oidc.ts'
import { newToken } from '../../services/keys/sessions/token.ts'

/** `GET /console/sign-in/oidc` and `GET /console/sign-in/callback`: OpenID Connect. */
const signIn: FastifyPluginAsyncTypebox = async app => {
  const { holders, sessions, store } = app
  const oidc = createOidc(store.clock)
  const response = { 302: Type.Null({ description: 'The next URL of the browser.' }), ...errorResponses }

  function settingsOf (): OidcSettings {
    const settings = app.models.config().console.oidc
    if (settings === null) throw noIdentityProvider()
    return settings
  }

  app.get('/sign-in/oidc', {
    schema: {
      tags: ['Console'],
      summary: 'Sign in to the console at the identity provider',
      description: 'Redirects the browser to the identity provider.',
      response
    }
  }, async (request, reply) => {
    const { url, attempt } = await oidc.begin(settingsOf(), redirectUri(request))
    reply.headers({
      'set-cookie': attemptCookie(attempt, { isSecure: request.arrival().isSecure, maxAgeMs: signInMs }), 'cache-control': 'no-store'
    })
    return reply.redirect(url, 302)
  })

  app.get('/sign-in/callback', {
    schema: {
      tags: ['Console'],
      summary: 'Return from the identity provider',
      description: 'Starts a session and redirects to the console.',
      response
    }
  }, async (request, reply) => {
    const settings = settingsOf()
    const { isSecure } = request.arrival()
    const attempt = attemptIn(request.headers.cookie, isSecure)
    reply.headers({
      'set-cookie': attemptCookie('', { isSecure, maxAgeMs: 0 }), 'cache-control': 'no-store'
    })
    if (attempt === undefined) throw signInFailed('The sign-in has expired, or began in another browser.')
    const query = request.url.slice(request.url.indexOf('?'))
    const holder = await oidc.finish(settings, attempt, new URL(redirectUri(request) + query))
    await sessions.useAttempt(attempt)
    const token = newToken()
    const { id, label } = await holders.operatorOf({ holder, token })
    const change = { actor: { id, label }, action: 'session.start', target: id }
    const after = { role: roleOf(settings, holder.groups) }
    await recordChange(store, { ...change, after, at: store.clock() })
    await sessions.start({ token, holder, actor: id })
    reply.header('set-cookie', sessionCookie(token, { isSecure }))
    return reply.redirect('/console/', 302)
  })
}

export default signIn

function redirectUri (request: FastifyRequest): string {
  return `${request.baseUrl().replace(/\/v1$/, '')}/console/sign-in/callback`
}
