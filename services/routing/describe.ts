import { usdText } from '../shared/money.ts'
import { headerText } from '../shared/shown-text.ts'
import type { RankedModel } from './rank.ts'
import type { RequestFeatures } from './request-features.ts'
import type { TextAnalysis } from './scoring/analyze-text.ts'
import { domains } from './scoring/weights.ts'
import type { RouterDecision } from './types.ts'

/**
 * Formats a decision as the value of `x-tollgate-route`, a dictionary of RFC 9651. `answeredBy` is the id of
 * the model that answered, which after a fallback is not the first candidate.
 */
export function routeHeader (decision: RouterDecision, answeredBy: string): string {
  const { policy, ranked, best, confidence } = decision
  const estimate = ranked.find(({ id }) => id === answeredBy)
  const fields = {
    policy: quoted(policy),
    model: quoted(answeredBy),
    reason: answeredBy === decision.candidates[0]?.id ? decision.reason : 'fallback',
    quality: estimate?.quality.toFixed(2),
    basis: estimate?.level?.basis,
    cost: estimate && quoted(usdText(estimate.costNano)),
    best: quoted(best.id),
    saved: estimate && quoted(usdText(best.costNano - estimate.costNano)),
    confidence: confidence.toFixed(2),
    domain: decision.domain
  }
  return Object.entries(fields).flatMap(
    ([name, value]) => value === undefined ? [] : [`${name}=${value}`]
  ).join(', ')
}

function quoted (text: string): string {
  return `"${headerText(text).replace(/["\\]/g, '\\$&')}"`
}

/** Standard error of a score, on text like the training data and on other text. */
const uncertainty = { familiar: 0.05, unfamiliar: 0.15 }

/** The chance that the first candidate is better than the second, 0.5 to 1; 1 without a second one. */
export function confidenceOf (
  [first, second]: readonly RankedModel[], { familiarity }: TextAnalysis
): number {
  if (first === undefined || second === undefined) return 1
  const spread = familiarity * uncertainty.familiar + (1 - familiarity) * uncertainty.unfamiliar
  const logistic = 1 / (1 + Math.exp(-1.7 * Math.abs(first.score - second.score) / spread))
  return Math.round(logistic * 100) / 100
}

/** The domain with the largest share. */
export function mainDomain (text: TextAnalysis): string {
  return domains[text.mainDomain] ?? ''
}

/** The features of request and text that a decision shows. */
export function signalsOf (request: RequestFeatures, text: TextAnalysis): RouterDecision['signals'] {
  const { focus, followUp, maxTokens, effort, ...counted } = request
  return {
    ...counted,
    ...(maxTokens === null ? {} : { maxTokens }),
    readChars: focus.length,
    familiarity: round(text.familiarity),
    difficulty: round(text.difficulty + text.demand),
    outputTokens: Math.round(text.outputTokens)
  }
}

function round (value: number): number {
  return Math.round(value * 1000) / 1000
}
