import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import packageFile from '../package.json' with { type: 'json' }
import { ErrorResponse } from '../schemas/openai/error.ts'
import { Front } from '../schemas/shared/front.ts'
import { frontPage } from '../services/http/front-page.ts'

const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
const response = {
  description: 'A page for a browser, and the same content as JSON for other clients',
  content: { 'application/json': { schema: Front }, 'text/html': { schema: Type.String() } }
}

/** `GET /` describes this server: a page for browsers, JSON for other clients. */
const front: FastifyPluginAsyncTypebox = async app => {
  const { version } = packageFile
  app.get('/', {
    schema: {
      summary: 'Describe this server',
      description: 'A page for browsers; its version, base URL and documentation as JSON for other clients.',
      response: { 200: response, '4xx': ErrorResponse }
    }
  }, async (request, reply) => {
    const baseUrl = request.baseUrl()
    reply.headers({ vary: 'accept', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    if (/\btext\/html\b/.test(request.headers.accept ?? '')) {
      const hasConsole = app.prefix === '' && app.models.config().console.enabled
      return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(frontPage(baseUrl, { version, hasConsole }))
    }
    const root = baseUrl.replace(/\/v1$/, '')
    return { name: 'Tollgate' as const, version, base_url: baseUrl, documentation: `${root}/docs/`, openapi: `${root}/openapi.json` }
  })
}

export default front
