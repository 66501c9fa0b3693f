import fp from 'fastify-plugin'
import { createTrace, type Trace } from '../../services/requests/trace.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What came of the request so far; use cases fill it in. */
    trace: Trace
  }
}

/** Gives each request its trace. */
export default fp(async app => {
  app.decorateRequest('trace')
  app.addHook('onRequest', (request, _reply, done) => {
    request.trace = createTrace()
    done()
  })
}, { name: 'trace' })
