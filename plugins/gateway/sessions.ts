import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Arrival } from '../../services/keys/sessions/csrf.ts'
import { baseUrlOf } from '../../services/http/base-url.ts'
import { sessionEnded } from '../../services/keys/sessions/errors.ts'
import type { BrowserSession } from '../../services/keys/sessions/session.ts'
import { createSessions, type Sessions } from '../../services/keys/sessions/sessions.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Sessions of the console. */
    sessions: Sessions
    /**
     * Returns the session of a request, and postpones its end. Throws GatewayError 401 if it is over, 403 if
     * another page may have made the request; `needsToken` also for methods that change nothing.
     */
    enterSession (request: FastifyRequest, reply: FastifyReply, needsToken?: boolean): Promise<BrowserSession>
  }

  interface FastifyRequest {
    /** The origin of the request, by its headers. */
    arrival (): Arrival
  }
}

/** Provides sessions, which browsers send in a cookie instead of a key. */
export default fp<{ publicBaseUrl: string | null }>(async (app, { publicBaseUrl }) => {
  const sessions = createSessions(app.store)
  app.decorate('sessions', sessions)

  app.decorateRequest('arrival', function (this: FastifyRequest) {
    const { method, headers, protocol, host, socket } = this
    const reached = { protocol, host, address: socket.localAddress, port: socket.localPort }
    const originAt = (url: string | null) => new URL(baseUrlOf({ publicBaseUrl: url, ...reached })).origin
    const known = originAt(publicBaseUrl)
    const isSecure = known.startsWith('https:')
    // An http page may be forged, so it does not count as the gateway's if browsers use https.
    const origins = [known, originAt(null)].filter(origin => !isSecure || origin.startsWith('https:'))
    return { method, headers, origins, isSecure }
  })

  app.decorate('enterSession', async (request, reply, needsToken) => {
    const arrival = request.arrival()
    const session = await sessions.read(request.headers.cookie, arrival.isSecure)
    if (session === null) throw sessionEnded()
    sessions.refuseForged(session, arrival, needsToken)
    // A running stream that checks its session again does not extend it.
    if (!reply.sent) await sessions.touch(session)
    return session
  })
}, { name: 'sessions', dependencies: ['store'] })
