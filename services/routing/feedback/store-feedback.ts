import { GatewayError } from '../../shared/errors.ts'
import { createLru } from '../../shared/lru.ts'
import type { Store } from '../../store/store.ts'

/** The model that answered a routed request, and its expected quality, 0 to 1. */
export interface RoutedRequest { key: string, model: string, domain: string, expected: number }

/** Stores the scores of clients for answers to routed requests. */
export interface FeedbackStore {
  /** Remembers a routed request on this node, so that its score is stored with the expected quality. */
  recordRouted (requestId: string, routed: RoutedRequest): void
  /**
   * Stores the score of an answer, 0 to 1; a later score replaces it. Throws GatewayError 404 for a request
   * of another key, StoreUnavailable.
   */
  storeScore (requestId: string, key: string, score: number): Promise<void>
  /** Stores the score of a judge, unless a client has scored the answer. Throws StoreUnavailable. */
  storeJudged (requestId: string, routed: RoutedRequest, score: number): Promise<void>
}

const maxRouted = 20_000

export function createFeedbackStore (store: Store, clock = store.clock): FeedbackStore {
  const recent = createLru<RoutedRequest>(maxRouted)
  return {
    recordRouted (requestId, routed) { recent.set(requestId, routed) },
    async storeScore (requestId, key, score) {
      const routed = recent.get(requestId)
      if (routed !== undefined && routed.key !== key) throw unknownRequest(requestId)
      const { model = null, domain = null, expected = null } = routed ?? {}
      await store.run(upsert, [requestId, key, score, model, domain, expected, clock()])
    },
    async storeJudged (requestId, { key, model, domain, expected }, score) {
      await store.run(insert, [requestId, key, score, model, domain, expected, clock()])
    }
  }
}

const values = `
  insert into routing_feedback (request_id, api_key, score, model, domain, expected, created_at)
  values ($1, $2, $3, $4, $5, $6, $7)`
const insert = `${values} on conflict (request_id, api_key) do nothing`
const upsert = `${values}
  on conflict (request_id, api_key) do update set score = excluded.score, created_at = excluded.created_at`

function unknownRequest (requestId: string): GatewayError {
  const message = `This key has no request \`${requestId}\`.`
  return new GatewayError(404, 'invalid_request_error', message, { param: 'id', code: 'request_not_found' })
}
