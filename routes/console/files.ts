import { existsSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import serveFiles from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
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
  // `/console` and all below it; the other paths are those of pages.
  const urls = ['/', '/*']
  const method = ['GET', 'HEAD']
  if (!existsSync(join(root, 'index.html'))) {
    const handler = async (_request: FastifyRequest, reply: FastifyReply) =>
      reply.code(503).type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(toBuild)
    for (const url of urls) app.route({ method, url, handler })
    return
  }
  await app.register(serveFiles, {
    root,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      reply.header('cache-control', hashed.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache')
    }
  })
  const files = filesBelow(root)
  const handler = async ({ params }: FastifyRequest<{ Params: { '*'?: string } }>, reply: FastifyReply) => {
    const path = params['*'] ?? ''
    if (files.has(path)) return reply.sendFile(path)
    // A page that was opened before an update asks for files that are no more.
    if (path.startsWith('assets/')) return reply.code(404).type('text/plain; charset=utf-8').send('No such file.\n')
    return reply.sendFile('index.html')
  }
  for (const url of urls) app.route({ method, url, handler })
}

/** The paths of a folder's files, relative to it and with slashes. */
function filesBelow (root: string): Set<string> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return new Set(files.map(({ parentPath, name }) => relative(root, join(parentPath, name)).replaceAll(sep, '/')))
}
