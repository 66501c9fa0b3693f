import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { takesCoding } from '../../services/http/takes-coding.ts'
import { consoleHeaders } from '../../services/http/page-headers.ts'

export interface ConsoleFilesOptions {
  /** The folder with the built pages. */
  root?: string
  publicBaseUrl: string | null
}

const builtFiles = join(import.meta.dirname, '..', '..', 'console', 'dist')
const toBuild = 'The console is not built. Run `npm run build:console` in the folder of Tollgate, and start it again.\n'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml'
}

/** The copies that the build has compressed, the best first. */
const codings = [{ name: 'br', ending: '.br' }, { name: 'gzip', ending: '.gz' }]

/** The pages of the console: its built files, and its first page for every other path below `/console`. */
export default async function consoleFiles (
  app: FastifyInstance, { root = builtFiles, publicBaseUrl }: ConsoleFilesOptions
): Promise<void> {
  const headers = consoleHeaders(publicBaseUrl)
  app.addHook('onRoute', route => { route.config = { ...route.config, passThrough: true } })
  app.addHook('onRequest', async (_request, reply) => { reply.headers(headers) })
  const files = existsSync(root) ? readFiles(root) : new Map<string, Buffer>()
  const handler = async (request: FastifyRequest<{ Params: { '*'?: string } }>, reply: FastifyReply) => {
    const path = request.params['*'] ?? ''
    if (!files.has('index.html')) {
      return reply.code(503).type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(toBuild)
    }
    // A page that was opened before an update requests files that no longer exist.
    if (path.startsWith('assets/') && !files.has(path)) {
      return reply.code(404).type('text/plain; charset=utf-8').send('No such file.\n')
    }
    return sendFile(request, reply, files, files.has(path) ? path : 'index.html')
  }
  // `/console` and all below it; the other paths are those of pages.
  for (const url of ['/', '/*']) app.route({ method: ['GET', 'HEAD'], url, handler })
}

function sendFile (
  request: FastifyRequest, reply: FastifyReply, files: ReadonlyMap<string, Buffer>, path: string
): FastifyReply {
  const accepted = request.headers['accept-encoding']
  const coding = codings.find(({ name, ending }) => files.has(path + ending) && takesCoding(accepted, name))
  if (coding !== undefined) reply.header('content-encoding', coding.name)
  return reply
    .type(types[extname(path)] ?? 'application/octet-stream')
    .header('vary', 'accept-encoding')
    // The names of assets contain the digest of their content.
    .header('cache-control', path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    .send(files.get(path + (coding?.ending ?? '')))
}

/** The contents of a folder's files, by their paths relative to it with slashes. */
function readFiles (root: string): Map<string, Buffer> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return new Map(files.map(({ parentPath, name }) => {
    const file = join(parentPath, name)
    return [relative(root, file).replaceAll(sep, '/'), readFileSync(file)]
  }))
}
