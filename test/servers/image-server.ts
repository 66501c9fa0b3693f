import { createServer, type IncomingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import type { ProviderConfig } from '../../services/config/catalogue/types.ts'
import { newProvider } from '../../services/config/new-provider.ts'
import { Deadlines } from '../../services/shared/timers.ts'
import type { ImageCall } from '../../services/providers/provider-image.ts'
import { createProvider } from '../../services/providers/registry.ts'
import { keepOpen } from '../helpers/keep-open.ts'
import { generous } from '../helpers/timeouts.ts'

/** A request that the fake server has received. */
export interface Seen {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
}

/** The response of the fake server; `hang` never responds. */
export interface Reply {
  status?: number
  headers?: Record<string, string>
  json?: unknown
  bytes?: Uint8Array
  hang?: true
}

export interface ImageServer {
  url: string
  seen: Seen[]
  /** Resolves with the next request. */
  next (): Promise<Seen>
  /** Resolves when the connection of a hanging request has closed. */
  hungUp: Promise<void>
}

interface Teardown { teardown (work: () => unknown): void }

/** A fake image API that records requests and responds with `reply`. */
export async function startImageServer (
  t: Teardown, reply: (seen: Seen, url: string) => Reply | Promise<Reply>
): Promise<ImageServer> {
  const seen: Seen[] = []
  const waiting: ((request: Seen) => void)[] = []
  let waited = 0
  const hung = Promise.withResolvers<void>()
  const server = createServer(keepOpen, async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const body = text === '' ? {} : JSON.parse(text)
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
    seen.push(one)
    waiting.shift()?.(one)
    const { status = 200, headers = {}, json, bytes, hang } = await reply(one, url)
    if (hang === true) {
      response.once('close', () => hung.resolve())
      return
    }
    const type = bytes === undefined ? 'application/json' : 'image/png'
    response.writeHead(status, { 'content-type': type, ...headers }).end(bytes ?? JSON.stringify(json))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    seen,
    hungUp: hung.promise,
    async next () {
      const request = seen[waited] ?? new Promise<Seen>(resolve => waiting.push(resolve))
      waited += 1
      return await request
    }
  }
}

/** A real image of one colour. */
export async function picture (width: number, height: number, format: 'png' | 'jpeg' | 'webp' = 'png'): Promise<Buffer> {
  return await sharp({ create: { width, height, channels: 3, background: '#e33' } }).toFormat(format).toBuffer()
}

/** The image maker of a provider at `url`, and a way to call it. */
export function imageProviderAt (t: Teardown, url: string, more: Partial<ProviderConfig> = {}) {
  const config = newProvider({ id: 'up', baseUrl: url, apiKey: 'sk-upstream-secret', timeouts: generous, ...more })
  const provider = createProvider(config, new Deadlines(5))
  t.teardown(() => provider.close())
  return async (call: Partial<ImageCall> = {}, request: Record<string, unknown> = {}) => {
    if (provider.images === undefined) throw new TypeError('This provider makes no images.')
    return await provider.images({
      request: { model: 'picture', prompt: 'A fox', ...request },
      model: 'picture',
      count: 1,
      size: null,
      quality: null,
      requestId: 'req_1',
      signal: new AbortController().signal,
      ...call
    })
  }
}

/** Returns what a promise rejects with; for `t.match` on errors with own fields. */
export async function failureOf (work: Promise<unknown>): Promise<unknown> {
  return await work.then(() => null, (error: unknown) => error)
}
