import type { Queries, Store } from '../../store/store.ts'
import type { Offset } from './learn.ts'

/** One score together with what had been expected. */
export interface Scored { requestId: string, model: string, domain: string, expected: number, score: number }

/** How much feedback is read at most, the latest first. */
const maxRead = 200_000

/** The feedback that something can be learned from. Throws StoreUnavailable. */
export async function readFeedback (queries: Queries): Promise<Scored[]> {
  const rows = await queries.all<{ request_id: string } & Omit<Scored, 'requestId'>>(`
    select request_id, model, domain, expected, score from routing_feedback
    where expected is not null and model is not null and domain is not null
    order by created_at desc, request_id limit ${maxRead}`)
  return rows.map(({ request_id: requestId, ...row }) => ({ requestId, ...row }))
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

/** What is in force: log-odds by model, then by domain. `version` changes with them. */
export interface Offsets { version: number, byModel: ReadonlyMap<string, ReadonlyMap<string, number>> }

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
