import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../shared/errors.ts'

/** What a client says about a request that it may send several times, and how long it waits. */
export interface ClientAttempt {
  idempotencyKey: string | null
  /** 0 for the first time, as also when nothing is said. */
  retryCount: number
  clientTimeoutMs: number | null
}

const maxKeyLength = 255

/**
 * Reads `Idempotency-Key` and the headers by which OpenAI's clients count their retries and tell their time
 * limit. Throws GatewayError 400 for a key that is too long.
 */
export function readAttempt (headers: IncomingHttpHeaders): ClientAttempt {
  const key = textOf(headers['idempotency-key'])
  if (key.length > maxKeyLength) {
    throw GatewayError.invalidRequest(`An Idempotency-Key has at most ${maxKeyLength} characters.`)
  }
  const timeoutS = Number(textOf(headers['x-stainless-timeout']))
  const retries = Number(textOf(headers['x-stainless-retry-count']))
  return {
    idempotencyKey: key === '' ? null : key,
    retryCount: Number.isInteger(retries) && retries > 0 ? retries : 0,
    clientTimeoutMs: timeoutS > 0 && Number.isFinite(timeoutS) ? timeoutS * 1000 : null
  }
}

function textOf (header: string | string[] | undefined): string {
  return typeof header === 'string' ? header.trim() : ''
}
