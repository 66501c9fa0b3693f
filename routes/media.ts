import { Readable } from 'node:stream'
import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../schemas/openai/error.ts'
import { answerFor } from '../services/media/answer.ts'
import { MediaGone } from '../services/media/errors.ts'
import { findMedia, notFound } from '../services/media/find.ts'
import type { ByteRange } from '../services/media/blobs.ts'
import type { StoredMedia } from '../services/media/media.ts'

/** What a browser may do with a file here: show it, from any page, and nothing else. */
const safety = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'accept-ranges, content-length, content-range, etag, x-request-id',
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy': "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox",
  'x-content-type-options': 'nosniff'
}

const preflight = {
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': 'range, if-range, if-none-match, if-modified-since',
  'access-control-max-age': '86400',
  allow: 'GET, HEAD, OPTIONS'
}

const params = Type.Object({ name: Type.String({ description: '`<id>.<extension>`' }) })
const querystring = Type.Object({
  exp: Type.Optional(Type.Unknown({ description: 'Until when the address is good, in Unix seconds.' })),
  sig: Type.Optional(Type.Unknown({ description: 'The signature.' }))
})

const bytes = { schema: Type.Unsafe<Readable>({ type: 'string', format: 'binary' }) }

const response = {
  '2xx': { description: 'The bytes, or a range of them.', content: { 'image/*': bytes, 'video/*': bytes } },
  304: Type.Unsafe<undefined>({ type: 'null', description: 'What the client has is good.' }),
  ...errorResponses
}

/** `GET /media/<id>.<extension>?exp=…&sig=…`: the bytes of an image or video. The address is the key. */
const media: FastifyPluginAsyncTypebox = async app => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(safety)
    done()
  })

  app.route({
    method: ['GET', 'HEAD'],
    url: '/media/:name',
    exposeHeadRoute: false,
    schema: { summary: 'Fetch a generated image or video', params, querystring, response },
    handler: async ({ method, headers, query, params: { name } }, reply) => {
      const found = await findMedia(app.media, { name, exp: query.exp, sig: query.sig }, Date.now())
      const answer = answerFor(found, headers, Date.now())
      reply.code(answer.status).headers(answer.headers)
      if (method === 'HEAD' || answer.status === 304) return reply.send(undefined)
      return reply.send(await open(found, answer.range))
    }
  })

  async function open (found: StoredMedia, range?: ByteRange): Promise<Readable> {
    try {
      const bytes = await app.media.read(found, range)
      return bytes instanceof Readable ? bytes : Readable.from(bytes, { objectMode: false })
    } catch (error) {
      if (!(error instanceof MediaGone)) throw error
      app.log.error({ err: error }, 'the bytes of a file are lost')
      throw notFound(error)
    }
  }

  app.options('/media/:name', async (_request, reply) => reply.code(204).headers(preflight).send())
}

export default media
