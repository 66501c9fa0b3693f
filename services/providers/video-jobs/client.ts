import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { retryDelayMs } from '../google-status.ts'
import {
  masked, objectOf, parseResponse, readErrorBody, readText, retryAfterMsOf
} from '../upstream/read-response.ts'
import {
  badReply, readErrorDetail, truncateMessage, errorKindOf, asMaybeSent, sentForKind,
  type ProviderErrorDetail, type ErrorKindByCode
} from './errors.ts'
import type { VideoFile } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import type { UpstreamResponse, UpstreamRequest } from '../upstream/response.ts'

interface VideoClientOptions {
  /** Default: a bearer token. */
  auth?: (apiKey: string) => Record<string, string>
  headers?: Record<string, string>
  /** Default: none. */
  codes?: ErrorKindByCode
  /** Longest response; default: 4 MiB. */
  responseBytes?: number
  /** Reads the error of a response with status 200, for providers that send such. */
  errorIn?: (body: JsonObject) => ProviderErrorDetail | null
}

export interface SubmitRequest { path: string, body: JsonObject, headers?: Record<string, string> }

export type VideoClient = ReturnType<typeof createVideoClient>

const limits = { responseBytes: 4 * 1024 * 1024, errorBytes: 256 * 1024 }
const json = { 'content-type': 'application/json' }
const alreadyEnded = new Set([400, 404, 409, 410, 422])

/** The `authorization` header with the key as a bearer token. */
export const bearerAuth = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` })

/**
 * HTTP client of a video API. It authenticates, limits response sizes and redacts the key in errors. Its
 * methods throw UpstreamError. One long function, because they share the connection and the key.
 */
export function createVideoClient (upstream: Upstream, options: VideoClientOptions = {}) {
  const { apiKey, headers, connection } = upstream
  const { auth = bearerAuth, codes = {}, responseBytes = limits.responseBytes, errorIn } = options

  async function send (
    { headers: own, ...request }: Omit<UpstreamRequest, 'headers'> & Partial<UpstreamRequest>, at = connection
  ) {
    const key = apiKey === null ? {} : auth(apiKey)
    const all = { accept: 'application/json', ...key, ...options.headers, ...headers, ...own }
    return await at.send({ ...request, headers: all })
  }

  const redact = (message: string): string => secretsIn(apiKey).reduce(masked, message)

  function toError (status: number, detail: ProviderErrorDetail, retryAfterMs?: number): UpstreamError {
    const kind = errorKindOf(status, detail, codes)
    const message = detail.message ?? `The provider responded with status ${status}.`
    const details = { status, code: detail.code, retryAfterMs }
    return new UpstreamError(kind, sentForKind(kind), truncateMessage(redact(message)), details)
  }

  async function readError (upstream: UpstreamResponse): Promise<UpstreamError> {
    const body = await readErrorBody(upstream)
    const retryAfterMs = retryAfterMsOf(upstream.headers) ?? retryDelayMs(body)
    return toError(upstream.status, readErrorDetail(body), retryAfterMs)
  }

  async function read (upstream: UpstreamResponse): Promise<JsonObject | null> {
    const text = await readText(upstream, responseBytes)
    return text === '' ? null : objectOf(await parseResponse(text))
  }

  function errorInBody (body: JsonObject | null): UpstreamError | null {
    const detail = body && errorIn?.(body)
    return detail ? toError(200, detail) : null
  }

  async function receive (request: Omit<UpstreamRequest, 'headers'> & Partial<UpstreamRequest>): Promise<JsonObject | null> {
    const upstream = await send(request)
    if (!isSuccess(upstream)) throw await readError(upstream)
    const result = await read(upstream)
    const error = errorInBody(result)
    if (error !== null) throw error
    return result
  }

  return {
    codes,
    /** A provider's text without the key. */
    redact,
    /** Starts a job. `sent` of its errors is as VideoProvider specifies. */
    async submit ({ path, body, headers = {} }: SubmitRequest, signal: AbortSignal): Promise<JsonObject> {
      const bytes = Buffer.from(JSON.stringify(body))
      const upstream = await send({ method: 'POST', path, headers: { ...json, ...headers }, body: bytes, signal })
        .catch(error => { throw asMaybeSent(error) })
      if (!isSuccess(upstream)) throw await readError(upstream)
      const response = await read(upstream).catch(error => { throw asMaybeSent(error) })
      const error = errorInBody(response)
      if (error !== null) throw error
      if (response === null) throw asMaybeSent(badReply('is empty'))
      return response
    },
    /** Null for an empty body: no news yet. */
    async get (path: string, signal: AbortSignal): Promise<JsonObject | null> {
      return await receive({ method: 'GET', path, signal })
    },
    /** The same where the state of a job is read by a POST. */
    async query (path: string, body: JsonObject, signal: AbortSignal): Promise<JsonObject | null> {
      return await receive({ method: 'POST', path, headers: json, body: Buffer.from(JSON.stringify(body)), signal })
    },
    /** Cancels a job; ignores that it has already ended. */
    async cancel (method: 'POST' | 'PUT' | 'DELETE', path: string, signal: AbortSignal): Promise<void> {
      const upstream = await send({ method, path, signal })
      if (!isSuccess(upstream) && !alreadyEnded.has(upstream.status)) throw await readError(upstream)
      await upstream.read(limits.errorBytes)
    },
    /**
     * A video that needs the API key, at a path of the base URL. The key follows redirects within the
     * provider's own origin, which is that of the base URL, and `own` where an answer names another; a
     * redirect to elsewhere is returned as a public URL, without the key.
     */
    async openFile (path: string, signal: AbortSignal, own?: string): Promise<VideoFile> {
      const base = new URL(upstream.baseUrl)
      let place = { at: connection, path }
      let address = upstream.baseUrl + path
      const open = async (signal: AbortSignal, headers: Record<string, string> = {}) => await send({
        method: 'GET', path: place.path, headers: { accept: '*/*', ...headers }, signal
      }, place.at)
      for (let redirects = 0; ; redirects++) {
        // Request one byte, to learn whether the provider redirects.
        const response = await open(signal, { range: 'bytes=0-0' })
        const next = redirectOf(response, address)
        if (next === null && !isSuccess(response)) throw await readError(response)
        response.cancel()
        if (next === null) break
        if (next.origin !== base.origin && next.origin !== own) return { url: next.href }
        if (redirects === maxRedirects) throw badReply('redirects in a circle')
        address = next.href
        place = { at: upstream.connect(base.origin), path: next.pathname + next.search }
      }
      return {
        async open (signal) {
          const video = await open(signal)
          if (video.status !== 200) throw await readError(video)
          return video
        }
      }
    }
  }
}

const maxRedirects = 5

/** Where a response redirects to; null if it does not. */
function redirectOf ({ status, headers: { location } }: UpstreamResponse, address: string): URL | null {
  return status >= 300 && status < 400 && typeof location === 'string' ? URL.parse(location, address) : null
}

/** The key, and both halves of an `<access key>:<secret key>` pair. */
function secretsIn (apiKey: string | null): (string | null)[] {
  return [apiKey, ...apiKey?.split(':') ?? []]
}

const isSuccess = ({ status }: UpstreamResponse): boolean => status >= 200 && status < 300
