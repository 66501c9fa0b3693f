import { existsSync } from 'node:fs'
import { join } from 'node:path'
import serveFiles from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { methodNotSupported } from '../../services/http/error-answers.ts'
import { consoleHeaders } from '../../services/http/page-headers.ts'

export interface ConsoleFilesOptions {
  /** The folder with the built pages. */
  root?: string
  publicBaseUrl: string | null
}

const builtFiles = join(import.meta.dirname, '..', '..', 'console', 'dist')
/** Their names have the digest of what is in them. */
const hashed = /[/\\]assets[/\\]/
const toBuild = 'The console is not built. Run `npm run build:console` in the folder of Tollgate, and start it again.\n'

/** The pages of the console: its built files, and its first page for every other path below `/console`. */
export default async function consoleFiles (
  app: FastifyInstance, { root = builtFiles, publicBaseUrl }: ConsoleFilesOptions
): Promise<void> {
  const headers = consoleHeaders(publicBaseUrl)
  app.addHook('onRoute', route => { route.config = { ...route.config, passThrough: true } })
  app.addHook('onRequest', async (_request, reply) => { reply.headers(headers) })
  if (!existsSync(join(root, 'index.html'))) {
    const refuse = async (_request: FastifyRequest, reply: FastifyReply) =>
      reply.code(503).type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(toBuild)
    app.route({ method: ['HEAD', 'GET'], url: '/*', handler: refuse })
    app.setNotFoundHandler(refuse)
    return
  }
  await app.register(serveFiles, {
    root,
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      reply.header('cache-control', hashed.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache')
    }
  })
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?', 1)
    if (!['GET', 'HEAD'].includes(request.method)) throw methodNotSupported(request.method, path, ['GET', 'HEAD'])
    // A page that was opened before an update asks for files that are no more.
    if (path.includes('/assets/')) return reply.code(404).type('text/plain; charset=utf-8').send('No such file.\n')
    return reply.sendFile('index.html')
  })
}
