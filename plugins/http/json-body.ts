import fp from 'fastify-plugin'
import { JsonText } from '../../services/shared/json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as received; there only when there was one. */
    jsonText: JsonText
  }
}

/** Parses JSON bodies and keeps their text, so that a provider can be sent what the client wrote. */
export default fp(async app => {
  app.decorateRequest('jsonText')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      request.jsonText = JsonText.parse(Buffer.isBuffer(body) ? body : Buffer.from(body))
    } catch (error) {
      return done(error instanceof Error ? error : new Error(String(error)))
    }
    done(null, request.jsonText.value)
  })
}, { name: 'json-body' })
