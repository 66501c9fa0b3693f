import type { Scored, Offset } from './types.ts'

/** How far expectations are from scores, before and after; both over scores that nothing was learned from. */
export interface Lesson {
  offsets: Offset[]
  learnedFrom: number
  heldBack: number
  before: Errors
  after: Errors
}

/** Mean squared difference, and mean log loss. */
export interface Errors { squared: number, logLoss: number }

/** Expectations count as much as this many scores: a handful of opinions does not turn the choice. */
const priorScores = 50
/** One in so many is held back to see whether what was learned holds. */
const heldBackEvery = 5

/**
 * Learns how far off the expectations of each model are, from the feedback given; the part held back is
 * chosen by the request's id, so it is the same each time.
 */
export function learn (feedback: readonly Scored[]): Lesson {
  const heldBack = feedback.filter(({ requestId }) => isHeldBack(requestId))
  const taught = feedback.filter(({ requestId }) => !isHeldBack(requestId))
  const offsets = offsetsOf(taught)
  const byPlace = new Map(offsets.map(offset => [placeOf(offset), offset.logOdds]))
  return {
    offsets,
    learnedFrom: taught.length,
    heldBack: heldBack.length,
    before: errorsOf(heldBack, () => 0),
    after: errorsOf(heldBack, one => byPlace.get(placeOf(one)) ?? 0)
  }
}

/** Of each model and domain: as if its expectation had been met so many times before the scores came in. */
function offsetsOf (feedback: readonly Scored[]): Offset[] {
  const places = Map.groupBy(feedback, placeOf)
  return [...places.values()].flatMap(scored => {
    const [{ model, domain } = { model: '', domain: '' }] = scored
    const expected = mean(scored.map(one => one.expected))
    const sum = scored.reduce((total, { score }) => total + score, 0)
    const found = (sum + priorScores * expected) / (scored.length + priorScores)
    return { model, domain, logOdds: logOdds(found) - logOdds(expected), scores: scored.length }
  }).toSorted((one, other) => placeOf(one) < placeOf(other) ? -1 : 1)
}

function errorsOf (feedback: readonly Scored[], offsetOf: (one: Scored) => number): Errors {
  const pairs = feedback.map(one => {
    return { score: one.score, chance: 1 / (1 + Math.exp(-logOdds(one.expected) - offsetOf(one))) }
  })
  return {
    squared: mean(pairs.map(({ score, chance }) => (score - chance) ** 2)),
    logLoss: mean(pairs.map(({ score, chance }) => {
      return -score * Math.log(chance) - (1 - score) * Math.log(1 - chance)
    }))
  }
}

function isHeldBack (requestId: string): boolean {
  let hash = 0
  for (let at = 0; at < requestId.length; at++) hash = Math.imul(hash ^ requestId.charCodeAt(at), 0x01000193)
  return ((hash ^ hash >>> 15) >>> 0) % heldBackEvery === 0
}

function placeOf ({ model, domain }: Pick<Offset, 'model' | 'domain'>): string {
  return `${domain} ${model}`
}

function logOdds (share: number): number {
  const inside = Math.max(0.01, Math.min(0.99, share))
  return Math.log(inside / (1 - inside))
}

/** Nothing has no mean. */
function mean (values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}
