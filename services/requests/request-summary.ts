import type { IncomingHttpHeaders } from 'node:http'
import type { KeyRecord } from '../keys/types.ts'
import type { RequestRecord } from './request-record.ts'

/** A request whose response is complete or whose client has left. Times are of `performance.now()`. */
export interface RequestSummary {
  id: string
  /** Null for requests that were rejected before authentication. */
  key: Pick<KeyRecord, 'id' | 'account'> | null
  method: string
  /** The pattern of the route, e.g. `/v1/models/*`; null for an unknown URL. */
  route: string | null
  /** The operation in OpenTelemetry's GenAI conventions; null for routes without models. */
  operation: Operation | null
  /** Without the query, which may contain anything. */
  path: string
  status: number
  /** Whether the client left before its response was complete. */
  isClientGone: boolean
  /** The W3C `traceparent` header, if any. */
  traceparent: string | null
  /** The request as received, including prompt and key: read only single fields. */
  sent: { body: unknown, headers: IncomingHttpHeaders }
  record: RequestRecord
  startedMs: number
  endedMs: number
}

/** An operation of the GenAI conventions; `output` is the kind of content, null for any. */
export interface Operation { name: string, output: string | null }

export type RequestListener = (finished: RequestSummary) => void
