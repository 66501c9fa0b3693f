import { usdText } from '../shared/money.ts'
import type { Scored } from './rank.ts'
import type { Conversation } from './conversation.ts'
import type { Understanding } from './scoring/understand.ts'
import { domains } from './scoring/weights.ts'
import type { Decision } from './types.ts'

/**
 * `x-tollgate-route`: what was decided, as a dictionary of RFC 9651. `ran` is the id of the model that
 * answered, which after a failure is not the one that was chosen.
 */
export function routeHeader (decision: Decision, ran: string): string {
  const { policy, scored, confidence } = decision
  const expected = scored.find(({ id }) => id === ran)
  const fields = {
    policy: quoted(policy),
    model: quoted(ran),
    reason: ran === decision.candidates[0]?.id ? decision.reason : 'fallback',
    quality: expected?.quality.toFixed(3),
    cost: expected && quoted(usdText(expected.costNano)),
    confidence: confidence.toFixed(2),
    domain: decision.domain
  }
  return Object.entries(fields).flatMap(
    ([name, value]) => value === undefined ? [] : [`${name}=${value}`]
  ).join(', ')
}

/** What `routeHeader` says that a score needs; null for a text that is none of its. */
export function expectationIn (header: string): { domain: string, expected: number } | null {
  const [, quality, domain] = /, quality=([\d.]+),.* domain=(\w+)$/.exec(header) ?? []
  return quality === undefined || domain === undefined ? null : { domain, expected: Number(quality) }
}

function quoted (text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, encodeURIComponent).replace(/["\\]/g, '\\$&')}"`
}

/** How far scores may be off: on text unlike the training data by more. */
const uncertainty = { familiar: 0.05, foreign: 0.15 }

/** The chance that the first of some candidates really is better than the second; 1 where there is none. */
export function confidenceOf ([first, second]: readonly Scored[], { familiarity }: Understanding): number {
  if (first === undefined || second === undefined) return 1
  const spread = familiarity * uncertainty.familiar + (1 - familiarity) * uncertainty.foreign
  const logistic = 1 / (1 + Math.exp(-1.7 * Math.abs(first.score - second.score) / spread))
  return Math.round(logistic * 100) / 100
}

export function mainDomain (text: Understanding): string {
  let best = 0
  text.domains.forEach((share, at) => { if (share > (text.domains[best] as number)) best = at })
  return domains[best] ?? ''
}

/** What the decision rests on, for people to read. */
export function signalsOf (request: Conversation, text: Understanding): Decision['signals'] {
  const { focus, ...rest } = request
  const { maxTokens, ...counted } = rest
  return {
    ...counted,
    ...(maxTokens === null ? {} : { maxTokens }),
    readChars: focus.length,
    familiarity: round(text.familiarity),
    difficulty: round(text.difficulty),
    outputTokens: Math.round(text.outputTokens)
  }
}

function round (value: number): number {
  return Math.round(value * 1000) / 1000
}
