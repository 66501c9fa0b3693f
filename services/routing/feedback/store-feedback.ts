import { GatewayError } from '../../shared/errors.ts'
import { createLru } from '../../shared/lru.ts'
import type { Store } from '../../store/store.ts'
import { parseRouteHeader } from '../describe.ts'

/** The model that answered a routed request, and its expected quality, 0 to 1. */
export interface RoutedRequest { key: string, model: string, domain: string, expected: number }

/** Stores the scores of clients for answers to routed requests. */
export interface FeedbackStore {
  /** Remembers a routed request on this node until the request log has it. */
  recordRouted (requestId: string, routed: RoutedRequest): void
  /**
   * Stores the score of an answer, 0 to 1; a later score replaces it. Throws GatewayError 404 unless this
   * node or the request log has a routed request of the key with this id, StoreUnavailable.
   */
  storeScore (requestId: string, key: string, score: number): Promise<void>
  /** Stores the score of a judge, unless a client has scored the answer. Throws StoreUnavailable. */
  storeJudged (requestId: string, routed: RoutedRequest, score: number): Promise<void>
  /** Deletes expired scores in batches; returns their number. Throws StoreUnavailable. */
  prune (): Promise<number>
}

const maxRouted = 20_000
/** Small, because a transaction blocks other writers. */
const pruneRows = 500

/** Creates the store of scores, which are kept for `keepMs`. */
export function createFeedbackStore (store: Store, keepMs: number): FeedbackStore {
  const { clock } = store
  const recent = createLru<RoutedRequest>(maxRouted)

  async function save (sql: string, requestId: string, routed: RoutedRequest, score: number): Promise<void> {
    const { key, model, domain, expected } = routed
    await store.run(sql, [requestId, key, score, model, domain, expected, clock()])
  }

  return {
    recordRouted (requestId, routed) { recent.set(idOf(requestId, routed.key), routed) },
    async storeScore (requestId, key, score) {
      const routed = recent.get(idOf(requestId, key)) ?? await readRouted(store, requestId, key)
      if (routed === null) throw unknownRequest(requestId)
      await save(upsert, requestId, routed, score)
    },
    storeJudged: async (requestId, routed, score) => await save(insert, requestId, routed, score),
    async prune () {
      let deleted = 0
      for (;;) {
        const count = await store.run(deleteBefore, [clock() - keepMs, pruneRows])
        deleted += count
        if (count < pruneRows) return deleted
      }
    }
  }
}

/** Clients choose the ids of their requests, so two keys may use the same one. Ids of keys have no spaces. */
const idOf = (requestId: string, key: string): string => `${key} ${requestId}`

/** The latest routed request of a key with this id, from the request log; null if there is none. */
async function readRouted (store: Store, requestId: string, key: string): Promise<RoutedRequest | null> {
  const row = await store.get<{ model: string, routed: string }>(`
    select model, routed from request_log where request = $1 and api_key = $2 and routed is not null
    order by seq desc limit 1`, [requestId, key])
  const prediction = row === undefined ? null : parseRouteHeader(row.routed)
  return row === undefined || prediction === null ? null : { key, model: row.model, ...prediction }
}

const values = `
  insert into routing_feedback (request_id, api_key, score, model, domain, expected, created_at)
  values ($1, $2, $3, $4, $5, $6, $7)`
const insert = `${values} on conflict (request_id, api_key) do nothing`
const upsert = `${values}
  on conflict (request_id, api_key) do update set score = excluded.score, created_at = excluded.created_at`
const deleteBefore = `
  delete from routing_feedback where (request_id, api_key) in (
    select request_id, api_key from routing_feedback where created_at < $1 order by created_at limit $2)`

function unknownRequest (requestId: string): GatewayError {
  const message = `This key has no request \`${requestId}\` to \`auto\` or another policy.`
  return new GatewayError(404, 'invalid_request_error', message, { param: 'id', code: 'request_not_found' })
}
