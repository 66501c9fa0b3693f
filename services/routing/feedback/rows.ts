import type { Queries, Store } from '../../store/store.ts'
import { parseRouteHeader } from '../describe.ts'
import type { FeedbackScore, FeedbackOffsets, FeedbackOffset } from './types.ts'

/** Only the latest scores are read. */
const maxRows = 200_000

/**
 * Reads the scores whose expected quality is known: the node that answered stores it with the score;
 * otherwise it comes from the request log, within its retention. Throws StoreUnavailable.
 */
export async function readFeedback ({ reports }: Pick<Store, 'reports'>): Promise<FeedbackScore[]> {
  const rows = await reports.all<FeedbackRow>(`
    select f.request_id, f.api_key, f.score, coalesce(f.model, l.model) as model, f.domain, f.expected, l.routed
    from routing_feedback f left join request_log l on f.expected is null and l.routed is not null
      and l.request = f.request_id and l.api_key = f.api_key
    where f.expected is not null or l.routed is not null
    order by f.created_at desc, f.request_id, f.api_key limit ${maxRows}`)
  const seen = new Set<string>()
  return rows.flatMap(({ request_id: requestId, api_key: key, score, model, domain, expected, routed }) => {
    // If a client reuses a request id, the join returns several rows.
    if (seen.size === seen.add(`${key} ${requestId}`).size) return []
    const routing = routed === null ? { domain, expected } : parseRouteHeader(routed)
    if (routing === null || routing.domain === null || routing.expected === null) return []
    return [{ requestId, model, score, domain: routing.domain, expected: routing.expected }]
  })
}

interface FeedbackRow {
  request_id: string
  api_key: string
  score: number
  model: string
  domain: string | null
  expected: number | null
  routed: string | null
}

/** Replaces the active offsets on all nodes, in the caller's transaction. Throws StoreUnavailable. */
export async function writeOffsets (
  queries: Queries, offsets: readonly FeedbackOffset[], nowMs: number
): Promise<void> {
  await queries.run('delete from routing_offset')
  for (const { model, domain, logOdds, scores } of offsets) {
    await queries.run(
      'insert into routing_offset (model, domain, log_odds, scores, trained_at) values ($1, $2, $3, $4, $5)',
      [model, domain, logOdds, scores, nowMs])
  }
}

export const noOffsets: FeedbackOffsets = { version: 0, byModel: new Map() }

/** Reads the active offsets. Throws StoreUnavailable. */
export async function readOffsets (queries: Queries): Promise<FeedbackOffsets> {
  const rows = await queries.all<{ model: string, domain: string, log_odds: number, trained_at: number }>(
    'select model, domain, log_odds, trained_at from routing_offset order by model, domain')
  const byModel = new Map<string, Map<string, number>>()
  for (const { model, domain, log_odds: logOdds } of rows) {
    byModel.set(model, (byModel.get(model) ?? new Map()).set(domain, logOdds))
  }
  return { version: rows[0]?.trained_at ?? 0, byModel }
}
