import type { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { masked, readErrorBody, readObject } from '../../upstream/answer-body.ts'
import { upstreamErrorFrom } from '../error-body.ts'
import type { Connection, Exchange } from '../../upstream/exchange.ts'

type Headers = Record<string, string>

/** HTTP client of an API that speaks JSON objects. All methods throw UpstreamError. */
export interface JsonClient {
  get (path: string, signal: AbortSignal): Promise<JsonObject>
  post (path: string, body: JsonObject, signal: AbortSignal, headers?: Headers): Promise<JsonObject>
  put (path: string, signal: AbortSignal): Promise<void>
}

interface JsonClientOptions {
  connection: Connection
  headers: Headers
  apiKey: string | null
  /** Refines an error by the provider's own error format; `body` is the parsed response. */
  refine?: (error: UpstreamError, body: unknown) => UpstreamError
}

/** Enough for ten large images in base64. */
const maxAnswerBytes = 256 * 1024 * 1024

/** Creates a client that limits response sizes and redacts the key in errors. */
export function createJsonClient (
  { connection, headers, apiKey, refine = error => error }: JsonClientOptions
): JsonClient {
  async function send (
    method: 'GET' | 'POST' | 'PUT', path: string, signal: AbortSignal, body?: JsonObject, more?: Headers
  ): Promise<Exchange> {
    const exchange = await connection.send({
      method,
      path,
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers, ...more },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
      signal
    })
    if (exchange.status >= 200 && exchange.status <= 299) return exchange
    const errorBody = redacted(await readErrorBody(exchange), apiKey)
    throw refine(upstreamErrorFrom(exchange, errorBody, apiKey), errorBody)
  }

  return {
    get: async (path, signal) => await readObject(await send('GET', path, signal), maxAnswerBytes),
    post: async (path, body, signal, more) => await readObject(await send('POST', path, signal, body, more), maxAnswerBytes),
    async put (path, signal) {
      const exchange = await send('PUT', path, signal)
      exchange.cancel()
    }
  }
}

function redacted (body: unknown, secret: string | null): unknown {
  return JSON.parse(masked(JSON.stringify(body), secret))
}
