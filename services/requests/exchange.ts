import type { Payer } from '../billing/payer.ts'
import type { RequestHooks } from '../extensions/request-hooks.ts'
import { GatewayError } from '../shared/errors.ts'
import type { JsonText } from '../shared/json.ts'
import type { RegionList } from '../shared/regions.ts'
import type { Delivery, ResponseListener } from './delivery.ts'
import type { RequestOptions } from './request-headers.ts'
import type { RequestRecord } from './request-record.ts'

/** One request of one client. `rawBody` is the body as received, `body` the same, validated. */
export interface Exchange<Request> extends RequestOptions {
  body: Request
  rawBody: JsonText
  requestId: string
  payer: Payer
  /** Whether the key may use a model, by its public id. */
  mayUse (model: string): boolean
  /** Where the key's requests may be processed. */
  regions: RegionList
  /** Aborted when the client disconnects, or when the gateway gives up with a GatewayError as the reason. */
  signal: AbortSignal
  giveUp (reason: GatewayError): void
  record: RequestRecord
  delivery: Delivery
  /** Headers to send with a response of chat, besides those that report what was decided. */
  extraHeaders: Readonly<Record<string, string>>
  /** Called with a response of chat once it was sent; null: nothing stores it. */
  listener: ResponseListener | null
  /** The hooks of the operator's plugins; null or absent: there are none. */
  hooks?: RequestHooks | null
}
