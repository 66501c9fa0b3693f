import type { Queries, Store } from '../../store/store.ts'
import { expectationIn } from '../describe.ts'
import type { Scored, Offsets, Offset } from './types.ts'

/** How much feedback is read at most, the latest first. */
const maxRead = 200_000

/**
 * The feedback that something can be learned from: what had been expected is kept beside the score by the
 * node that answered, else it is in the request log for as long as that goes back. Throws StoreUnavailable.
 */
export async function readFeedback (queries: Queries): Promise<Scored[]> {
  const rows = await queries.all<FeedbackRow>(`
    select f.request_id, f.api_key, f.score, coalesce(f.model, l.model) as model, f.domain, f.expected, l.routed
    from routing_feedback f left join request_log l on f.expected is null and l.routed is not null
      and l.request = f.request_id and l.api_key = f.api_key
    where f.expected is not null or l.routed is not null
    order by f.created_at desc, f.request_id, f.api_key limit ${maxRead}`)
  const read = new Set<string>()
  return rows.flatMap(({ request_id: requestId, api_key: key, score, model, domain, expected, routed }) => {
    // A client that repeats an id has several requests by that name.
    if (read.size === read.add(`${key} ${requestId}`).size) return []
    const known = routed === null ? { domain, expected } : expectationIn(routed)
    if (known === null || known.domain === null || known.expected === null) return []
    return [{ requestId, model, score, domain: known.domain, expected: known.expected }]
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

/** Makes these the offsets of all nodes, instead of those before. Throws StoreUnavailable. */
export async function writeOffsets (store: Store, offsets: readonly Offset[], nowMs: number): Promise<void> {
  await store.transaction(async queries => {
    await queries.run('delete from routing_offset')
    for (const { model, domain, logOdds, scores } of offsets) {
      await queries.run(
        'insert into routing_offset (model, domain, log_odds, scores, trained_at) values ($1, $2, $3, $4, $5)',
        [model, domain, logOdds, scores, nowMs])
    }
  })
}

export const noOffsets: Offsets = { version: 0, byModel: new Map() }

/** Reads the offsets in force. Throws StoreUnavailable. */
export async function readOffsets (queries: Queries): Promise<Offsets> {
  const rows = await queries.all<{ model: string, domain: string, log_odds: number, trained_at: number }>(
    'select model, domain, log_odds, trained_at from routing_offset order by model, domain')
  const byModel = new Map<string, Map<string, number>>()
  for (const { model, domain, log_odds: logOdds } of rows) {
    byModel.set(model, (byModel.get(model) ?? new Map()).set(domain, logOdds))
  }
  return { version: rows[0]?.trained_at ?? 0, byModel }
}
