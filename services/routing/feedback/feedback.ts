import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../shared/errors.ts'
import type { Queries } from '../../store/store.ts'

/** A routed request that was answered: by which model, and how well that was expected to go. */
export interface Routed { key: string, model: string, domain: string, expected: number }

/** What clients say of answers to routed requests. */
export interface Feedback {
  /** Remembers a routed request for a while, so that a score can be understood. */
  note (requestId: string, routed: Routed): void
  /**
   * Stores the score of an answer, 0 to 1; a later one replaces it. Throws GatewayError 404 for a request
   * that another key has made, StoreUnavailable when the database cannot be asked.
   */
  store (requestId: string, key: string, score: number): Promise<void>
}

const remembered = 20_000

export function createFeedback (queries: Queries, clock: () => number = Date.now): Feedback {
  const known = new LRUCache<string, Routed>({ max: remembered })
  return {
    note (requestId, routed) { known.set(requestId, routed) },
    async store (requestId, key, score) {
      const routed = known.get(requestId)
      if (routed !== undefined && routed.key !== key) throw unknownRequest(requestId)
      const { model = null, domain = null, expected = null } = routed ?? {}
      await queries.run(upsert, [requestId, key, score, model, domain, expected, clock()])
    }
  }
}

const upsert = `
  insert into routing_feedback (request_id, api_key, score, model, domain, expected, created_at)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (request_id, api_key) do update set score = excluded.score, created_at = excluded.created_at`

function unknownRequest (requestId: string): GatewayError {
  const message = `There is no request \`${requestId}\` of this key.`
  return new GatewayError(404, 'invalid_request_error', message, { param: 'id', code: 'request_not_found' })
}
