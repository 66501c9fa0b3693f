import type { Payer } from '../billing/payer.ts'
import { GatewayError } from '../shared/errors.ts'
import type { JsonText } from '../shared/json.ts'
import type { Delivery } from './delivery.ts'
import type { RequestOptions } from './request-headers.ts'
import type { Trace } from './trace.ts'

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
