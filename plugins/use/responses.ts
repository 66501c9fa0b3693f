import fp from 'fastify-plugin'
import { createResponses, type Responses } from '../../services/surfaces/responses/responses.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The use case behind `/v1/responses`. */
    responses: Responses
  }
}

/** Offers responses, which are translated onto chat. */
export default fp(async app => {
  app.decorate('responses', createResponses({ chat: app.chat }))
}, { name: 'responses', dependencies: ['chat'] })
