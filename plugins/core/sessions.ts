import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Arrival } from '../../services/console/csrf.ts'
import { sessionEnded } from '../../services/console/errors.ts'
import type { SealedSession } from '../../services/console/session.ts'
import { createSessions, type Sessions } from '../../services/console/sessions.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Sessions of the console. */
    sessions: Sessions
    /**
     * Returns the session of a request, and postpones its end. Throws GatewayError 401 if it is over, 403 if
     * another page may have made the request; `needsToken` also for methods that change nothing.
     */
    enterSession (request: FastifyRequest, reply: FastifyReply, needsToken?: boolean): Promise<SealedSession>
  }

  interface FastifyRequest {
    /** Where it came from, by its own headers. */
    arrival (): Arrival
  }
}

/** Opens the sessions that browsers carry in a cookie, in place of a key. */
export default fp<{ publicBaseUrl: string | null }>(async (app, { publicBaseUrl }) => {
  const sessions = await createSessions(app.store)
  app.decorate('sessions', sessions)

  app.decorateRequest('arrival', function (this: FastifyRequest) {
    const { method, headers, host } = this
    return { method, headers, host, publicBaseUrl }
  })

  app.decorate('enterSession', async (request, reply, needsToken) => {
    const session = await sessions.read(request.headers.cookie)
    if (session === null) throw sessionEnded()
    sessions.refuseForged(session, request.arrival(), needsToken)
    const renewed = await sessions.renewed(session)
    if (renewed !== null) reply.header('set-cookie', renewed)
    return session
  })
}, { name: 'sessions', dependencies: ['store'] })
