import type { Readable } from 'node:stream'
import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../schemas/openai/error.ts'
import { openFile } from '../services/media/open-file.ts'
import { mediaResponse } from '../services/media/response.ts'
import { resolveSignedUrl } from '../services/media/signed-url.ts'

/** Browsers may only display the file, on any page. */
const safety = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'accept-ranges, content-length, content-range, etag, x-request-id',
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy': "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox",
  'x-content-type-options': 'nosniff'
}

const preflight = {
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'range, if-range, if-match, if-none-match, if-modified-since, if-unmodified-since',
  'access-control-max-age': '86400',
  allow: 'GET, HEAD, OPTIONS'
}

const params = Type.Object({ name: Type.String({ description: '`<id>.<extension>`' }) })
const querystring = Type.Object({
  exp: Type.Optional(Type.Unknown({ description: 'When the URL expires, in Unix seconds.' })),
  sig: Type.Optional(Type.Unknown({ description: 'The signature.' }))
})

const bytes = { schema: Type.Unsafe<Readable>({ type: 'string', format: 'binary' }) }

const response = {
  '2xx': { description: 'The file, or a range of it.', content: { 'image/*': bytes, 'video/*': bytes } },
  304: Type.Unsafe<undefined>({ type: 'null', description: 'The cached copy of the client is current.' }),
  ...errorResponses
}

/** `GET /media/<id>.<extension>?exp=…&sig=…`: an image or video. The signed URL replaces an API key. */
const media: FastifyPluginAsyncTypebox = async app => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(safety)
    done()
  })

  for (const method of ['GET', 'HEAD'] as const) {
    app.route({
      method,
      url: '/media/:name',
      exposeHeadRoute: false,
      config: { passThrough: true },
      schema: {
        tags: ['Models'],
        summary: 'Fetch a generated image or video',
        description: 'The signature in the URL replaces a key, until the URL expires. Ranges and conditional ' +
          'requests are honoured.',
        params,
        querystring,
        response
      },
      handler: async ({ headers, query, params: { name }, log }, reply) => {
        const nowMs = app.store.clock()
        const found = await resolveSignedUrl(app.media, { name, exp: query.exp, sig: query.sig }, nowMs)
        // RFC 9110, section 14.2: ranges are for GET only.
        const conditions = method === 'GET' ? headers : { ...headers, range: undefined }
        const result = mediaResponse(found, conditions, nowMs)
        reply.code(result.status).headers(result.headers)
        if (method === 'HEAD' || result.status === 304) return reply.send(undefined)
        return reply.send(await openFile({ media: app.media, log }, found, result.range))
      }
    })
  }

  app.options('/media/:name', {
    schema: { response: { 204: Type.Null() } }
  }, async (_request, reply) => reply.code(204).headers(preflight).send(null))
}

export default media
