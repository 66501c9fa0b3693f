import { GatewayError } from '../shared/errors.ts'
import { JsonText } from '../shared/json-text.ts'
import type { Trace } from './trace.ts'
import type { Delivery } from './delivery.ts'
import type { Payer } from '../billing/payer.ts'

/** One request of one client. `text` is the body as received, `request` the same, validated. */
export interface Incoming<Request> {
  request: Request
  text: JsonText
  requestId: string
  payer: Payer
  /** Whether the key may use a model, by its public id. */
  mayUse (model: string): boolean
  signal: AbortSignal
  /** Aborts the signal; the client is told why. */
  giveUp (reason: GatewayError): void
  /** The longest the client wants to wait; null: it does not say. */
  deadlineMs: number | null
  /** The client's own name of the conversation; null: it has none. */
  conversation: string | null
  /** What the client wants of the cache; null: it does not say. */
  cache: CacheWish | null
  trace: Trace
  delivery: Delivery
}

/** What a client wants of the cache. */
export interface CacheWish {
  /** May be answered by what is kept. */
  read: boolean
  /** The answer may be kept. */
  store: boolean
  /** The oldest answer that will do, and how long a new one is kept, in ms; null: as the gateway likes. */
  maxAgeMs: number | null
}
