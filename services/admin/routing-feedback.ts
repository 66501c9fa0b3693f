import { fitOffsets, type PredictionErrors } from '../routing/feedback/fit-offsets.ts'
import { readFeedback, writeOffsets } from '../routing/feedback/rows.ts'
import type { Store } from '../store/store.ts'

/** The result of training; `before` and `after` are the errors on the held-back scores. */
export interface FeedbackTraining {
  learned_from: number
  held_back: number
  before: { squared: number, log_loss: number }
  after: { squared: number, log_loss: number }
  offsets: { model: string, domain: string, scores: number, log_odds: number }[]
  applied: boolean
}

/** Trains on the stored feedback; `apply` activates the result on all nodes. Throws StoreUnavailable. */
export async function trainOnFeedback (
  store: Store, apply: boolean, nowMs: number
): Promise<FeedbackTraining> {
  const { trainedOn, heldOut, before, after, offsets } = fitOffsets(await readFeedback(store))
  if (apply) await writeOffsets(store, offsets, nowMs)
  return {
    learned_from: trainedOn,
    held_back: heldOut,
    before: toErrors(before),
    after: toErrors(after),
    offsets: offsets.map(({
      model, domain, scores, logOdds
    }) => ({ model, domain, scores, log_odds: logOdds })),
    applied: apply
  }
}

function toErrors ({ squared, logLoss }: PredictionErrors): FeedbackTraining['before'] {
  return { squared, log_loss: logLoss }
}
