import { fitOffsets, type PredictionErrors } from '../../routing/feedback/fit-offsets.ts'
import { readFeedback, writeOffsets } from '../../routing/feedback/rows.ts'
import { recordChange } from '../../store/audit.ts'
import type { Administration } from './administration.ts'

export type FeedbackTraining = Awaited<ReturnType<typeof trainOnFeedback>>

/**
 * Trains on the stored feedback; `apply` activates the result on all nodes. `before` and `after` are the
 * errors on the held-back scores. Throws StoreUnavailable.
 */
export async function trainOnFeedback (
  { store, actor }: Pick<Administration, 'store' | 'actor'>, apply: boolean, nowMs: number
) {
  const { trainedOn, heldOut, before, after, offsets } = fitOffsets(await readFeedback(store))
  if (apply) {
    await store.transaction(async queries => {
      await writeOffsets(queries, offsets, nowMs)
      const after = { learned_from: trainedOn, models: [...new Set(offsets.map(({ model }) => model))] }
      await recordChange(queries, { actor, action: 'routing.train', target: 'routing', after, at: nowMs })
    })
  }
  return {
    learned_from: trainedOn,
    held_back: heldOut,
    before: toErrors(before),
    after: toErrors(after),
    offsets: offsets.map(({ logOdds, ...offset }) => ({ ...offset, log_odds: logOdds })),
    applied: apply
  }
}

function toErrors ({ squared, logLoss }: PredictionErrors) {
  return { squared, log_loss: logLoss }
}
