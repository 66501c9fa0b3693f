import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { methodNotSupported, unknownUrl } from '../services/http/to-gateway-error.ts'
import { refuseUnsupported } from './v1/unsupported.ts'

/** Responds to unmatched requests with 404 or 405, and to `OPTIONS` with the methods of a path. */
export default async function unserved (app: FastifyInstance): Promise<void> {
  const response = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { method, url } = request
    const [whole = '/'] = url.split('?', 1)
    const path = whole.slice(app.prefix.length)
    refuseUnsupported(path)
    const allowed = app.routeTable.methodsAt(path)
    if (allowed.length === 0) {
      const meant = withBase(path)
      const isServed = app.routeTable.methodsAt(meant).length > 0
      throw unknownUrl(method, whole, isServed ? app.prefix + meant : null)
    }
    if (method !== 'OPTIONS') throw methodNotSupported(method, whole, allowed)
    return await reply.code(204).header('allow', [...allowed, 'OPTIONS'].join(', ')).send()
  }
  // Before the body is read: it may be a large upload, or of an unsupported type.
  app.addHook('onRequest', response)
  app.setNotFoundHandler(response)
}

/** The path with the right base URL, for clients whose `/v1` is missing, doubled or all of the path. */
function withBase (path: string): string {
  if (/^\/v1\/?$/.test(path)) return '/v1/chat/completions'
  return path.startsWith('/v1/v1/') ? path.slice('/v1'.length) : `/v1${path}`
}
