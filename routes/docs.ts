import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import reference from '@scalar/fastify-api-reference'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

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

const configuration = {
  pageTitle: 'Tollgate',
  url: '../openapi.json',
  // A field for the key is shown without a choice of what it is for.
  authentication: { preferredSecurityScheme: 'key' },
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true }
} as const

/** `GET /openapi.json`, and `GET /docs`, a page to read it and to try it out; neither needs a key. */
export default async function docs (app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', {
    config: { passThrough: true }
  }, async (_request, reply) => reply.header('access-control-allow-origin', '*').send(app.swagger()))

  await app.register(async scope => {
    scope.addHook('onRoute', route => { route.config = { ...route.config, passThrough: true } })
    scope.addHook('onSend', compressScript)
    await scope.register(reference, { routePrefix: '/docs', configuration })
  })
}

/** The script has megabytes, so it is compressed once. */
let compressed: Promise<Buffer> | undefined

async function compressScript (request: FastifyRequest, reply: FastifyReply, payload: unknown) {
  reply.headers(safety)
  if (typeof payload !== 'string' || !request.url.endsWith('.js')) return payload
  reply.headers({ 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' })
  if (!/\bgzip\b/.test(String(request.headers['accept-encoding']))) return payload
  compressed ??= promisify(gzip)(payload)
  reply.header('content-encoding', 'gzip')
  return await compressed
}
