import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { FastifyInstance } from 'fastify'

const withoutBody = new Set([101, 204, 205, 304])

/** Returns a `fetch` that calls a server without a socket. Bodies are streamed; `newId` names requests. */
export function injectFetch (app: FastifyInstance, newId: () => string): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search, host } = new URL(request.url)
    const headers = { host, 'x-request-id': newId(), ...Object.fromEntries(request.headers) }
    const payload = request.body === null ? undefined : Buffer.from(await request.arrayBuffer())
    request.signal.throwIfAborted()
    const response = await app.inject({
      method: request.method as 'POST',
      url: pathname + search,
      headers,
      ...payload !== undefined && { payload },
      payloadAsStream: true,
      signal: request.signal
    })
    const given = Object.entries(response.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one): [string, string] => [name, String(one)]))
    const { statusCode: status } = response
    if (withoutBody.has(status)) return new Response(null, { status, headers: given })
    // Node's two declarations of web streams differ.
    const body = Readable.toWeb(response.stream()) as ReadableStream<Uint8Array<ArrayBuffer>>
    return new Response(body, { status, headers: given })
  }
}
