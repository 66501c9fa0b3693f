import { setImmediate as afterOthers } from 'node:timers/promises'
import { UpstreamError } from '../../shared/errors.ts'
import { placeOf } from '../../shared/json-bounds.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import type { UpstreamResponse } from './response.ts'
import { escapePattern } from '../../shared/escape-pattern.ts'

/** A picture of 4K as PNG, in base64, is shorter. */
export const maxResponseBytes = 24 * 1024 * 1024
const maxErrorBytes = 256 * 1024

/** Longer bodies are read in several turns of the event loop. */
const longBytes = 1024 * 1024

/**
 * The body of a response as text, for `parseResponse`. Throws UpstreamError, also for JSON of more
 * values than may be parsed at once.
 */
export async function readText (response: UpstreamResponse, limitBytes = maxResponseBytes): Promise<string> {
  return await toText(await response.read(limitBytes))
}

/** Does the same for bytes that were read. */
export async function toText (bytes: Buffer): Promise<string> {
  if (bytes.length < longBytes) return bytes.toString()
  await afterOthers()
  if (!looksLikeEvents(bytes.toString('latin1', 0, 6)) && hasMoreMarks(bytes)) throw tooManyValues()
  await afterOthers()
  const text = bytes.toString()
  await afterOthers()
  return text
}

/** The body of an answer as one object. Throws UpstreamError. */
export async function readObject (
  response: UpstreamResponse, limitBytes = maxResponseBytes
): Promise<JsonObject> {
  return objectOf(await parseResponse(await readText(response, limitBytes)))
}

/**
 * A whole body, which `readText` has read, as JSON; after a long one, other requests have their turn. Throws
 * UpstreamError.
 */
export async function parseResponse (text: string): Promise<unknown> {
  try {
    // Without a byte order mark, and megabytes of white space.
    const value: unknown = JSON.parse(text.trim())
    if (text.length >= longBytes) await afterOthers()
    return value
  } catch (cause) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is not valid JSON.', { cause })
  }
}

/** Parsing more takes over 0.1 s. The probabilities of 10,000 tokens, with 20 others for each, are fewer. */
const maxMarks = 2_000_000

/**
 * A JSON text of a provider. Throws SyntaxError, and UpstreamError for more than `maxMarks` commas, braces
 * and brackets, before any object is made of it.
 */
export function parseBounded (text: string): unknown {
  if (text.length > maxMarks && hasMoreMarks(Buffer.from(text))) throw tooManyValues()
  return JSON.parse(text)
}

function tooManyValues (): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has too many values.')
}

const marks = [...Buffer.from(',{[')]
const isMark = new Uint8Array(256)
for (const mark of marks) isMark[mark] = 1
/** A block without marks is in a long text, which is searched faster than counted. */
const blockBytes = 1_024

function hasMoreMarks (bytes: Buffer): boolean {
  const next = marks.map(() => 0)
  let count = 0
  for (let at = 0; at < bytes.length && count <= maxMarks;) {
    const before = count
    const end = Math.min(bytes.length, at + blockBytes)
    for (; at < end; at++) count += isMark[bytes[at] ?? 0] ?? 0
    if (count > before) continue
    // Each mark is searched again only beyond its last place, so this takes linear time.
    for (const [index, mark] of marks.entries()) {
      if ((next[index] ?? 0) < at) next[index] = placeOf(bytes, mark, at)
    }
    at = Math.min(...next)
  }
  return count > maxMarks
}

/** Narrows a value to an object. Throws UpstreamError. */
export function objectOf (value: unknown): JsonObject {
  if (isObject(value)) return value
  throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is not a JSON object.')
}

/** The JSON body of an error answer; null when it is not JSON or cannot be read. */
export async function readErrorBody (response: UpstreamResponse): Promise<unknown> {
  try {
    return await parseResponse(await readText(response, maxErrorBytes))
  } catch {
    return null
  }
}

/** Keys that stand for none, at servers that check no key. */
const placeholders: ReadonlySet<string> = new Set(['', 'none', 'null', 'empty', 'dummy', 'unused', 'no-key'])
const shortKey = 8

/** Access tokens of Google, and JSON Web Tokens. */
const accessToken = /\b(ya29\.|eyJ)[\w.~+/-]{8,}/g

/**
 * The message with the key masked, in case the provider repeats it; so are access tokens, which the caller
 * does not see. A short key is masked only where it is no part of a word.
 */
export function masked (text: string, secret: string | null): string {
  const message = text.replace(accessToken, '***')
  if (secret === null || placeholders.has(secret.toLowerCase())) return message
  if (secret.length >= shortKey) return message.replaceAll(secret, '***')
  const alone = new RegExp(`(?<![\\p{L}\\p{N}])${escapePattern(secret)}(?![\\p{L}\\p{N}])`, 'gu')
  return message.replace(alone, '***')
}

/** A longer delay is a fault of the provider, which clients are not to obey. */
const maxRetryAfterMs = 86_400_000

/**
 * The delay in `retry-after`, in ms, at most a day. Source: RFC 9110 section 10.2.3, and OpenAI's
 * `retry-after-ms`.
 */
export function retryAfterMsOf (headers: UpstreamResponse['headers']): number | undefined {
  const ms = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && ms >= 0) return Math.min(ms, maxRetryAfterMs)
  const value = headers['retry-after']
  if (typeof value !== 'string') return undefined
  const delayMs = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(0, delayMs), maxRetryAfterMs)
}

export function isEventStream ({ headers }: Pick<UpstreamResponse, 'headers'>): boolean {
  const type = headers['content-type']
  return typeof type === 'string' && type.toLowerCase().startsWith('text/event-stream')
}

/** Whether a body begins as an event stream does; the network may have cut its first line. */
export function looksLikeEvents (body: string): boolean {
  const start = body.slice(0, 6)
  return start !== '' &&
    ['data:', 'event:', 'id:', 'retry:', 'error:', ':'].some(name => start.startsWith(name) || name.startsWith(start))
}

/** The error of a stream request that was answered with something else. */
export function notAStream (): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', 'The provider answered a stream request without a stream.')
}
