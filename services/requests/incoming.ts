import type { Payer } from '../billing/payer.ts'
import { GatewayError } from '../shared/errors.ts'
import type { JsonText } from '../shared/json-text.ts'
import type { Delivery } from './delivery.ts'
import type { RequestOptions } from './request-headers.ts'
import type { Trace } from './trace.ts'
import type { ServerResponse } from 'node:http'

/** One request of one client. `text` is the body as received, `request` the same, validated. */
export interface Incoming<Request> extends RequestOptions {
  request: Request
  text: JsonText
  requestId: string
  payer: Payer
  /** Whether the key may use a model, by its public id. */
  mayUse (model: string): boolean
  /** Aborted when the client disconnects, or when the gateway gives up with a GatewayError as the reason. */
  signal: AbortSignal
  giveUp (reason: GatewayError): void
  trace: Trace
  delivery: Delivery
}

/** Gives a request up with 504 when it takes longer than `limitMs`, until `stop` is called. */
export function startDeadline (
  { giveUp }: Pick<Incoming<unknown>, 'giveUp'>, limitMs: number
): { dueMs: number, stop (): void } {
  const dueMs = performance.now() + limitMs
  const timer = setTimeout(() => giveUp(GatewayError.deadlineExceeded(limitMs)), limitMs)
  return { dueMs, stop: () => clearTimeout(timer) }
}

/**
 * A controller that aborts when the client disconnects before its response is complete; until the response is
 * closed it is one of `running`. It watches the response because a request is "closed" as soon as its body
 * has been read.
 */
export function abortOnDisconnect (response: ServerResponse, running: Set<AbortController>): AbortController {
  const controller = new AbortController()
  running.add(controller)
  response.on('close', () => {
    running.delete(controller)
    if (!response.writableEnded) controller.abort()
  })
  return controller
}
