import type { Queries, Store } from '../../store/store.ts'
import type { FeedbackScore, FeedbackOffsets, FeedbackOffset } from './types.ts'

/** Only the latest scores are read. */
const maxRows = 200_000

/** Reads the scores, the latest first. Throws StoreUnavailable. */
export async function readFeedback ({ reports }: Pick<Store, 'reports'>): Promise<FeedbackScore[]> {
  return await reports.all<FeedbackScore>(`
    select request_id as "requestId", model, domain, expected, score from routing_feedback
    where expected is not null order by created_at desc, request_id, api_key limit ${maxRows}`)
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
