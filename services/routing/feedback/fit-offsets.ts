import { logOdds, sigmoid } from '../scoring/log-odds.ts'
import type { FeedbackOffset, FeedbackScore } from './types.ts'

/** Fitted offsets, and the prediction errors on the held-out scores without and with them. */
export interface FittedOffsets {
  offsets: FeedbackOffset[]
  trainedOn: number
  heldOut: number
  before: PredictionErrors
  after: PredictionErrors
}

/** Mean squared error and mean log loss. */
export interface PredictionErrors { squared: number, logLoss: number }

/** Weight of the prior expectation, in scores: a handful of scores does not change the ranking. */
const priorScores = 50
/** One score in this many is held out. */
const heldOutEvery = 5

/**
 * Fits an offset for each model and domain to the scores of clients. The held-out scores are selected by a
 * hash of the request id, so the same feedback gives the same result.
 */
export function fitOffsets (feedback: readonly FeedbackScore[]): FittedOffsets {
  const { heldOut = [], training = [] } = Object.groupBy(
    feedback, ({ requestId }) => isHeldOut(requestId) ? 'heldOut' : 'training')
  const offsets = offsetsOf(training)
  const byCell = new Map(offsets.map(offset => [cellOf(offset), offset.logOdds]))
  return {
    offsets,
    trainedOn: training.length,
    heldOut: heldOut.length,
    before: errorsOf(heldOut, () => 0),
    after: errorsOf(heldOut, one => byCell.get(cellOf(one)) ?? 0)
  }
}

function offsetsOf (feedback: readonly FeedbackScore[]): FeedbackOffset[] {
  return [...Map.groupBy(feedback, cellOf).values()].flatMap(scores => {
    const [{ model, domain } = { model: '', domain: '' }] = scores
    const expected = mean(scores.map(one => one.expected))
    const sum = scores.reduce((total, { score }) => total + score, 0)
    const posterior = (sum + priorScores * expected) / (scores.length + priorScores)
    return { model, domain, logOdds: logOdds(posterior) - logOdds(expected), scores: scores.length }
  }).toSorted((one, other) => cellOf(one) < cellOf(other) ? -1 : 1)
}

function errorsOf (
  feedback: readonly FeedbackScore[], offsetOf: (one: FeedbackScore) => number
): PredictionErrors {
  const pairs = feedback.map(one => {
    return { score: one.score, predicted: sigmoid(logOdds(one.expected) + offsetOf(one)) }
  })
  return {
    squared: mean(pairs.map(({ score, predicted }) => (score - predicted) ** 2)),
    logLoss: mean(pairs.map(({ score, predicted }) => {
      return -score * Math.log(predicted) - (1 - score) * Math.log(1 - predicted)
    }))
  }
}

function isHeldOut (requestId: string): boolean {
  let hash = 0
  for (let at = 0; at < requestId.length; at++) hash = Math.imul(hash ^ requestId.charCodeAt(at), 0x01000193)
  return ((hash ^ hash >>> 15) >>> 0) % heldOutEvery === 0
}

/** Key of a model in a domain. */
function cellOf ({ model, domain }: Pick<FeedbackOffset, 'model' | 'domain'>): string {
  return `${domain} ${model}`
}

/** The mean; 0 of nothing. */
function mean (values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}
