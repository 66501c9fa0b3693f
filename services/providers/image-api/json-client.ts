import type { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { masked, readErrorBody, readObject } from '../upstream/read-response.ts'
import { upstreamErrorFrom } from '../error-body.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import type { Upstream } from '../provider.ts'

type Headers = Record<string, string>

interface JsonClientOptions {
  auth: (apiKey: string) => Headers
  /** Refines an error by the provider's own error format; `body` is the parsed response. */
  refine?: (error: UpstreamError, body: unknown) => UpstreamError
}

export type JsonClient = ReturnType<typeof createJsonClient>

/** Enough for ten large images in base64. */
const maxResponseBytes = 256 * 1024 * 1024

/**
 * HTTP client of an API that speaks JSON objects. It authenticates, limits response sizes and redacts the key
 * in errors. Its methods throw UpstreamError.
 */
export function createJsonClient (
  { connection, apiKey, headers }: Pick<Upstream, 'connection' | 'apiKey' | 'headers'>,
  { auth, refine = error => error }: JsonClientOptions
) {
  const own = { ...(apiKey === null ? {} : auth(apiKey)), ...headers }

  async function send (
    method: 'GET' | 'POST' | 'PUT', path: string, signal: AbortSignal, body?: JsonObject, more?: Headers
  ): Promise<UpstreamResponse> {
    const response = await connection.send({
      method,
      path,
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...own, ...more },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
      signal,
      // An image's first byte may arrive when the image is finished; the state of a job is known at once.
      ...(method === 'POST' ? { awaits: 'whole' } : {})
    })
    if (response.status >= 200 && response.status <= 299) return response
    const errorBody = redacted(await readErrorBody(response), apiKey)
    throw refine(upstreamErrorFrom(response, errorBody, apiKey), errorBody)
  }

  return {
    async get (path: string, signal: AbortSignal): Promise<JsonObject> {
      return await readObject(await send('GET', path, signal), maxResponseBytes)
    },
    async post (path: string, body: JsonObject, signal: AbortSignal, more?: Headers): Promise<JsonObject> {
      return await readObject(await send('POST', path, signal, body, more), maxResponseBytes)
    },
    async put (path: string, signal: AbortSignal): Promise<void> {
      const upstream = await send('PUT', path, signal)
      upstream.cancel()
    }
  }
}

function redacted (body: unknown, secret: string | null): unknown {
  return JSON.parse(masked(JSON.stringify(body), secret))
}
