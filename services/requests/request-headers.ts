import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../shared/errors.ts'

/** The headers that control how a request is served. */
export interface RequestOptions {
  /** `x-tollgate-deadline-ms`: the longest the client waits; null if absent. */
  deadlineMs: number | null
  /**
   * The client's name of the conversation: the first of `x-session-id`, `x-session-affinity` and
   * `x-tollgate-conversation` that is not empty, else null.
   */
  conversation: string | null
  /** `x-tollgate-cache`; null if absent. */
  cache: CacheControl | null
  /** `x-tollgate-keep-alive`: whether blanks precede a whole response; null if absent. */
  keepAlive: boolean | null
  /** `x-stainless-retry-count` of OpenAI's SDKs: the number of earlier tries; null if absent. */
  clientRetries: number | null
  /** `x-tollgate-sandbox`: a directive for models of the sandbox, e.g. `error 429`. */
  sandbox?: string | undefined
}

/** Whether a request may be served from the cache, and whether its response may be cached. */
export interface CacheControl {
  read: boolean
  store: boolean
  /** The oldest acceptable response, and the retention of a new one, in ms; null for the default. */
  maxAgeMs: number | null
}

/** A client's headers about retries and its timeout. */
export interface RetryOptions {
  /** `Idempotency-Key`; null if absent. */
  idempotencyKey: string | null
  /** `x-stainless-retry-count` of OpenAI's SDKs; 0 if absent. */
  retryCount: number
  /** `x-stainless-timeout` of OpenAI's SDKs; null if absent. */
  clientTimeoutMs: number | null
}

export const cacheHeader = 'x-tollgate-cache'
const retryCountHeader = 'x-stainless-retry-count'
const keepAliveHeader = 'x-tollgate-keep-alive'
const sandboxHeader = 'x-tollgate-sandbox'
const deadlineHeader = 'x-tollgate-deadline-ms'
/** The first two are those of coding agents and other gateways. */
const conversationHeaders = ['x-session-id', 'x-session-affinity', 'x-tollgate-conversation'] as const
const maxDeadlineMs = 86_400_000
const maxCacheS = 7 * 86_400
const maxConversationLength = 200
const maxKeyLength = 255

/** Throws GatewayError 400 for an invalid value. */
export function readRequestOptions (headers: IncomingHttpHeaders): RequestOptions {
  return {
    deadlineMs: readDeadline(headers[deadlineHeader]),
    conversation: readConversation(headers),
    cache: readCacheControl(headers[cacheHeader]),
    keepAlive: readKeepAlive(headers[keepAliveHeader]),
    clientRetries: readRetryCount(headers[retryCountHeader]),
    sandbox: textOf(headers[sandboxHeader]) || undefined
  }
}

/** Throws GatewayError 400 for a key that is too long. */
export function readRetryOptions (headers: IncomingHttpHeaders): RetryOptions {
  const key = textOf(headers['idempotency-key']).trim()
  if (key.length > maxKeyLength) {
    throw GatewayError.invalidRequest(`An Idempotency-Key must have at most ${maxKeyLength} characters.`)
  }
  const timeoutS = Number(textOf(headers['x-stainless-timeout']))
  return {
    idempotencyKey: key === '' ? null : key,
    retryCount: readRetryCount(headers[retryCountHeader]) ?? 0,
    clientTimeoutMs: timeoutS > 0 && Number.isFinite(timeoutS) ? timeoutS * 1000 : null
  }
}

/** The client's name of the conversation, shortened, or null. */
export function readConversation (headers: IncomingHttpHeaders): string | null {
  for (const name of conversationHeaders) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '') return value.slice(0, maxConversationLength)
  }
  return null
}

function readRetryCount (value: string | string[] | undefined): number | null {
  return typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : null
}

function readKeepAlive (value: string | string[] | undefined): boolean | null {
  if (value === undefined) return null
  if (value === 'on' || value === 'off') return value === 'on'
  throw GatewayError.invalidRequest(`The header ${keepAliveHeader} must be \`on\` or \`off\`.`)
}

function readDeadline (value: string | string[] | undefined): number | null {
  if (value === undefined) return null
  const ms = Number(value)
  if (typeof value === 'string' && /^\d{1,8}$/.test(value) && ms >= 1 && ms <= maxDeadlineMs) return ms
  throw GatewayError.invalidRequest(
    `The header ${deadlineHeader} must be a whole number of milliseconds from 1 to ${maxDeadlineMs}.`)
}

/**
 * Reads directives like those of `Cache-Control`: `on`, `max-age=<seconds>`, `no-cache` (a new response,
 * which is cached) and `no-store` (neither read nor cached). Null without the header. Throws GatewayError
 * 400.
 */
export function readCacheControl (value: string | string[] | undefined): CacheControl | null {
  if (value === undefined) return null
  const control: CacheControl = { read: true, store: true, maxAgeMs: null }
  for (const directive of String(value).toLowerCase().split(',').map(text => text.trim())) {
    const seconds = Number(/^max-age=(\d{1,6})$/.exec(directive)?.[1])
    if (directive === 'no-store') control.read = control.store = false
    else if (directive === 'no-cache') control.read = false
    else if (seconds >= 1 && seconds <= maxCacheS) control.maxAgeMs = seconds * 1000
    else if (directive !== 'on') throw badCacheControl()
  }
  return control
}

function badCacheControl (): GatewayError {
  return GatewayError.invalidRequest(`The header ${cacheHeader} takes \`on\`, \`no-cache\`, \`no-store\` and ` +
    `\`max-age=<seconds>\` with 1 to ${maxCacheS} seconds, separated by commas.`)
}

function textOf (header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}

/** Whether the client prefers a job to its result: `Prefer: respond-async` (RFC 7240). */
export function prefersAsync ({ prefer }: IncomingHttpHeaders): boolean {
  if (prefer === undefined) return false
  return [prefer].flat().join(',').split(',').some(one => /^\s*respond-async\s*(?:;|$)/i.test(one))
}
