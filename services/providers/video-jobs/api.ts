import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { masked, objectOf, parseAnswer, readErrorBody, retryAfterMsOf } from '../../upstream/answer-body.ts'
import { badReply, complaintIn, cut, kindOf, mayHaveBegun, sentOf } from './failures.ts'
import type { Complaint, FailureCodes } from './failures.ts'
import type { VideoFile } from '../provider-video.ts'
import type { Connection, UpstreamRequest, Exchange } from '../../upstream/exchange.ts'

/** What every maker of videos is created from. */
export interface VideoUpstream {
  apiKey: string | null
  /** The operator's own, sent with every request. */
  headers: Record<string, string>
  connection: Connection
}

export interface VideoApiOptions {
  /** The headers that carry the key. */
  auth: (apiKey: string) => Record<string, string>
  headers?: Record<string, string>
  codes: FailureCodes
  /** The error in an answer of status 200, where the provider does such things. */
  errorIn?: (body: JsonObject) => Complaint | null
}

export interface SubmitRequest { path: string, body: JsonObject, headers?: Record<string, string> }

/** The calls that submitting, polling and fetching are made of. All throw UpstreamError. */
export interface VideoApi {
  /** Starts a job. `sent` of its error is as VideoProvider says. */
  submit (request: SubmitRequest, signal: AbortSignal): Promise<JsonObject>
  /** Null for an empty answer, which means that there is nothing to tell yet. */
  get (path: string, signal: AbortSignal): Promise<JsonObject | null>
  /** Asks for an end; that it is too late is no error. */
  cancel (method: 'POST' | 'PUT' | 'DELETE', path: string, signal: AbortSignal): Promise<void>
  /** A video that needs the key. Where its path leads away from the provider, it is there without the key. */
  file (path: string, signal: AbortSignal): Promise<VideoFile>
}

const limits = { answerBytes: 4 * 1024 * 1024, errorBytes: 256 * 1024 }
/** Refusals to cancel which mean that nothing is left to cancel. */
const tooLate = new Set([400, 404, 409, 410, 422])

export const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` })

export function createVideoApi (upstream: VideoUpstream, options: VideoApiOptions): VideoApi {
  const { apiKey, connection } = upstream
  const { auth, codes, errorIn } = options

  async function send ({ headers, ...request }: Omit<UpstreamRequest, 'headers'> & Partial<UpstreamRequest>) {
    const key = apiKey === null ? {} : auth(apiKey)
    const all = { accept: 'application/json', ...key, ...options.headers, ...upstream.headers, ...headers }
    return await connection.send({ ...request, headers: all })
  }

  /** The error that an answer is. */
  function failure (status: number, complaint: Complaint, retryAfterMs?: number): UpstreamError {
    const kind = kindOf(status, complaint, codes)
    const message = complaint.message ?? `The provider answered with status ${status}.`
    const shown = secretsIn(apiKey).reduce(masked, message)
    return new UpstreamError(kind, sentOf(kind), cut(shown), { status, code: complaint.code, retryAfterMs })
  }

  async function failureOf (exchange: Exchange): Promise<UpstreamError> {
    const complaint = complaintIn(await readErrorBody(exchange))
    return failure(exchange.status, complaint, retryAfterMsOf(exchange.headers))
  }

  async function read (exchange: Exchange): Promise<JsonObject | null> {
    const bytes = await exchange.read(limits.answerBytes)
    if (bytes.length === 0) return null
    return objectOf(parseAnswer(bytes))
  }

  function refusalIn (body: JsonObject | null): UpstreamError | null {
    const complaint = body && errorIn?.(body)
    return complaint ? failure(200, complaint) : null
  }

  return {
    async submit ({ path, body, headers = {} }, signal) {
      const bytes = Buffer.from(JSON.stringify(body))
      const json = { 'content-type': 'application/json', ...headers }
      const exchange = await send({ method: 'POST', path, headers: json, body: bytes, signal })
        .catch(error => { throw mayHaveBegun(error) })
      if (!isSuccess(exchange)) throw await failureOf(exchange)
      const answer = await read(exchange).catch(error => { throw mayHaveBegun(error) })
      const refusal = refusalIn(answer)
      if (refusal !== null) throw refusal
      if (answer === null) throw mayHaveBegun(badReply('is empty'))
      return answer
    },
    async get (path, signal) {
      const exchange = await send({ method: 'GET', path, signal })
      if (!isSuccess(exchange)) throw await failureOf(exchange)
      const answer = await read(exchange)
      const refusal = refusalIn(answer)
      if (refusal !== null) throw refusal
      return answer
    },
    async cancel (method, path, signal) {
      const exchange = await send({ method, path, signal })
      if (!isSuccess(exchange) && !tooLate.has(exchange.status)) throw await failureOf(exchange)
      await exchange.read(limits.errorBytes)
    },
    async file (path, signal) {
      const open = async (signal: AbortSignal, headers: Record<string, string> = {}) =>
        await send({ method: 'GET', path, headers: { accept: '*/*', ...headers }, signal })
      // One byte tells where the video is.
      const exchange = await open(signal, { range: 'bytes=0-0' })
      const { location } = exchange.headers
      if (isRedirect(exchange) && typeof location === 'string' && URL.canParse(location)) {
        exchange.cancel()
        return { url: location }
      }
      if (!isSuccess(exchange)) throw await failureOf(exchange)
      exchange.cancel()
      return {
        async open (signal) {
          const video = await open(signal)
          if (video.status !== 200) throw await failureOf(video)
          return video
        }
      }
    }
  }
}

/** The key, and the halves of one that is a pair. */
function secretsIn (apiKey: string | null): string[] {
  return apiKey === null ? [] : [apiKey, ...apiKey.split(':')].filter(secret => secret !== '')
}

const isSuccess = ({ status }: Exchange): boolean => status >= 200 && status < 300
const isRedirect = ({ status }: Exchange): boolean => status >= 300 && status < 400
