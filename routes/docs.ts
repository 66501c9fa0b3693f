import { gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

/** Nothing is loaded from elsewhere, whatever the script may want; requests go to this server alone. */
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

/** `GET /openapi.json`, and `GET /docs`, a page to read it and to try it out; neither wants a key. */
export default async function docs (app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', async (_request, reply) => {
    const document = await app.openApi()
    return reply.header('access-control-allow-origin', '*').type('application/json; charset=utf-8').send(document)
  })

  app.get('/docs', async (_request, reply) => {
    const { page } = await app.reference()
    return reply.headers(safety).type('text/html; charset=utf-8').send(page)
  })

  app.get('/docs/reference.js', async ({ headers }, reply) => {
    const { script } = await app.reference()
    reply.headers({ ...safety, 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' })
    reply.type('text/javascript; charset=utf-8')
    if (!/\bgzip\b/.test(String(headers['accept-encoding']))) return reply.send(gunzipSync(script))
    return reply.header('content-encoding', 'gzip').send(Buffer.from(script))
  })
}
