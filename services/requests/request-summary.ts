import type { IncomingHttpHeaders } from 'node:http'
import type { KeyRecord } from '../keys/types.ts'
import type { RequestRecord } from './request-record.ts'

/** A request whose response is complete, or whose client has gone. Times are of `performance.now()`. */
export interface RequestSummary {
  id: string
  /** Null for requests that were refused before their key was known. */
  key: Pick<KeyRecord, 'id' | 'account'> | null
  method: string
  /** The pattern of the route, e.g. `/v1/models/*`; null when there is none for the URL. */
  route: string | null
  /** What the route does, in the words of OpenTelemetry's GenAI conventions; null: it is not about models. */
  operation: Operation | null
  /** Without the query, which may carry anything. */
  path: string
  status: number
  /** The client went away before its response was complete. */
  isClientGone: boolean
  /** The W3C `traceparent` header, when there was one. */
  traceparent: string | null
  /** The request as it was sent, prompt and key included: for those who read single fields of it. */
  sent: { body: unknown, headers: IncomingHttpHeaders }
  record: RequestRecord
  startedMs: number
  endedMs: number
}

/** An operation of the GenAI conventions; `output` is the kind of content, null: any. */
export interface Operation { name: string, output: string | null }

export type RequestListener = (finished: RequestSummary) => void
