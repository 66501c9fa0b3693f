import type { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { masked, readErrorBody, readObject } from '../../upstream/answer-body.ts'
import { upstreamErrorFrom } from '../error-body.ts'
import type { Connection, Exchange } from '../../upstream/exchange.ts'

type Headers = Record<string, string>

/** Asks one upstream in JSON and gets a JSON object. All methods throw UpstreamError. */
export interface JsonClient {
  get (path: string, signal: AbortSignal): Promise<JsonObject>
  post (path: string, body: JsonObject, signal: AbortSignal, headers?: Headers): Promise<JsonObject>
  /** Asks for something of which only the success matters. */
  put (path: string, signal: AbortSignal): Promise<void>
}

interface JsonClientOptions {
  connection: Connection
  /** Sent with every request, the key among them. */
  headers: Headers
  /** Never appears in an error. */
  apiKey: string | null
  /** Understands an error better than its status and the common shapes tell; `body` is the answer's JSON. */
  refine?: (error: UpstreamError, body: unknown) => UpstreamError
}

/** Largest answer that is read: ten large images in base64. */
const maxAnswerBytes = 256 * 1024 * 1024

/** A client of an upstream that speaks JSON. */
export function createJsonClient (
  { connection, headers, apiKey, refine = error => error }: JsonClientOptions
): JsonClient {
  async function ask (
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
    const said = redacted(await readErrorBody(exchange), apiKey)
    throw refine(upstreamErrorFrom(exchange, said, apiKey), said)
  }

  return {
    get: async (path, signal) => await readObject(await ask('GET', path, signal), maxAnswerBytes),
    post: async (path, body, signal, more) => await readObject(await ask('POST', path, signal, body, more), maxAnswerBytes),
    async put (path, signal) {
      const exchange = await ask('PUT', path, signal)
      exchange.cancel()
    }
  }
}

function redacted (said: unknown, secret: string | null): unknown {
  return JSON.parse(masked(JSON.stringify(said), secret))
}
