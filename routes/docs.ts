import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { takesCoding } from '../services/http/takes-coding.ts'

/** The page loads nothing from other origins; requests go only to this server. */
const policy = [
  "default-src 'none'", "script-src 'self' 'unsafe-inline' 'unsafe-eval'", "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:", "font-src 'self' data:", "connect-src 'self'", "worker-src 'self' blob:",
  "frame-ancestors 'none'"
].join('; ')

const safety = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer'
}

/** `GET /openapi.json`, and `GET /docs`, a page to read it and try it out; neither needs a key. */
export default async function docs (app: FastifyInstance): Promise<void> {
  const config = { passThrough: true }
  app.get('/openapi.json', { config }, async (_request, reply) => {
    return reply.header('access-control-allow-origin', '*').send(app.swagger())
  })
  app.get('/docs', { config }, async (_request, reply) => reply.headers(safety).redirect(`${app.prefix}/docs/`, 301))
  app.get('/docs/', { config }, async (_request, reply) => {
    const { html } = await app.reference()
    return reply.headers(safety).type('text/html; charset=utf-8').send(html)
  })
  app.get('/docs/js/scalar.js', { config }, async (request, reply) => {
    const { packedScript } = await app.reference()
    return await sendScript(reply, packedScript, takesCoding(request.headers['accept-encoding'], 'gzip'))
  })
}

async function sendScript (
  reply: FastifyReply, packed: Buffer, takesGzip: boolean
): Promise<FastifyReply> {
  reply.headers({ ...safety, 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' })
  reply.type('application/javascript; charset=utf-8')
  if (!takesGzip) return reply.send(await promisify(gunzip)(packed))
  return reply.header('content-encoding', 'gzip').send(packed)
}
