import type { RequestsConfig } from '../config/catalogue/types.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import type { AbandonedCalls } from '../requests/attempt.ts'
import type { Candidate, Catalogue } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import type { RequestReservations } from '../requests/request-reservation.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { AutoModel } from './auto-model.ts'
import type { AnyRequest, ClientApi } from './client-api.ts'

export interface Chat {
  /**
   * Serves one request of an API. Throws GatewayError, UpstreamError or StoreUnavailable before the first
   * byte was sent.
   */
  complete<Request extends AnyRequest> (exchange: Exchange<Request>, api: ClientApi<Request>): Promise<void>
  /** Resolves when no request is being served any more, with or without its client. */
  idle (): Promise<void>
}

export interface ChatOptions {
  catalogue: Catalogue
  /** Read for each request, because the configuration may change. */
  config: () => { requests: RequestsConfig }
  ledger: Pick<Ledger, 'means'>
  openReservation: RequestReservations
  autoModel: AutoModel
  /** Absent: there is no cache. */
  cache?: ChatCache | null
  abandonedCalls: AbandonedCalls
  /** Called for every failed call, also when another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
  /** Called for requests for a whole response that ended after their client had left. */
  onAbandoned: (requestId: string, record: RequestRecord) => void
  /** In [0, 1). */
  random?: () => number
}

export interface ChatCache {
  /**
   * Replies to a repeated request free of charge and returns null; else returns the exchange to serve, whose
   * response is stored.
   */
  replyOrStore<Request extends AnyRequest> (
    exchange: Exchange<Request>, api: ClientApi<Request>
  ): Promise<Exchange<Request> | null>
}

/** What a policy has selected; null: the request names its model. */
export type Selected = Awaited<ReturnType<AutoModel['select']>> | null
