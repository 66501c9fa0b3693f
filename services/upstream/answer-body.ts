import { UpstreamError } from '../shared/errors.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import type { Exchange } from './exchange.ts'

/** Largest whole answer that is read where a provider has no reason to send a larger one. */
export const maxAnswerBytes = 64 * 1024 * 1024
const maxErrorBytes = 256 * 1024

/** The body of an answer as one object. Throws UpstreamError. */
export async function readObject (exchange: Exchange, limitBytes = maxAnswerBytes): Promise<JsonObject> {
  return objectOf(parseAnswer(await exchange.read(limitBytes)))
}

/** A whole body as JSON. Throws UpstreamError. */
export function parseAnswer (body: Buffer | string): unknown {
  try {
    return JSON.parse(String(body))
  } catch (cause) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is not valid JSON.', { cause })
  }
}

/** The same value when it is an object. Throws UpstreamError. */
export function objectOf (value: unknown): JsonObject {
  if (isObject(value)) return value
  throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is not a JSON object.')
}

/** The body of an answer that is a failure; null when it is no JSON and so says no more than its status. */
export async function readErrorBody (exchange: Exchange): Promise<unknown> {
  try {
    return JSON.parse((await exchange.read(maxErrorBytes)).toString())
  } catch {
    return null
  }
}

/** A message without the key, in case the provider repeats it. */
export function masked (message: string, secret: string | null): string {
  return secret === null ? message : message.replaceAll(secret, '***')
}

/**
 * How long the upstream asks to wait, in ms. Source: RFC 9110 section 10.2.3, and OpenAI's `retry-after-ms`.
 */
export function retryAfterMsOf (headers: Exchange['headers']): number | undefined {
  const ms = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && ms >= 0) return ms
  const value = headers['retry-after']
  if (typeof value !== 'string') return undefined
  const delayMs = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(delayMs) ? undefined : Math.max(0, delayMs)
}

/** Whether an answer is a stream of events. */
export function isEventStream ({ headers }: Pick<Exchange, 'headers'>): boolean {
  const type = headers['content-type']
  return typeof type === 'string' && type.toLowerCase().startsWith('text/event-stream')
}
