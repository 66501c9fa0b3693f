/** A client's score of an answer, 0 to 1, and the quality that was expected of it. */
export interface FeedbackScore {
  requestId: string
  model: string
  domain: string
  expected: number
  score: number
}

/** The active offsets: log-odds by model, then by domain. `version` changes with them. */
export interface FeedbackOffsets {
  version: number
  byModel: ReadonlyMap<string, ReadonlyMap<string, number>>
}

/**
 * The log-odds to add to the expected quality of a model in a domain, and the number of scores behind them.
 */
export interface FeedbackOffset { model: string, domain: string, logOdds: number, scores: number }
