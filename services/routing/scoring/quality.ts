import { sigmoid } from './log-odds.ts'
import type { ModelProfile } from './profile.ts'
import type { TextAnalysis } from './analyze-text.ts'
import type { RouterWeights } from './weights.ts'

/** No answer is certain to be good or bad. */
const bounds = { least: 0.02, most: 0.995 }

/**
 * Predicts the chance, 0 to 1, that a model answers a text well. On text like the training data it uses the
 * learned traits. On other text it uses only what generalizes: the model's level in the domain and the
 * difficulty of the text, a factor on the failures of all models, so that it cannot change their order.
 */
export function predictQuality (text: TextAnalysis, profile: ModelProfile, weights: RouterWeights): number {
  const { familiarity, difficulty, demand } = text
  if (text.factorOn === 'odds') {
    return bounded(sigmoid(domainLevel(text, profile) - generalWeight * difficulty - demand))
  }
  let failure = 0
  if (familiarity > 0) {
    const learned = 1 - learnedChance(text, profile, weights)
    failure += familiarity * learned * Math.exp(learnedWeight * difficulty + learnedDemand * demand)
  }
  if (familiarity < 1) {
    const general = 1 - sigmoid(domainLevel(text, profile))
    failure += (1 - familiarity) * general * Math.exp(generalWeight * difficulty + generalDemand * demand)
  }
  return bounded(1 - failure)
}

function bounded (chance: number): number {
  return Math.max(bounds.least, Math.min(bounds.most, chance))
}

/**
 * Weights of the difficulty: enough to rank texts, too little to make a good model a bad one. On familiar
 * text the traits already account for part of it.
 */
const generalWeight = 0.5
const learnedWeight = 0.4
/** Weights of what is asked. */
const generalDemand = 1
const learnedDemand = 0.8

/** The chance by kind of text, from the model's level in the kind and the traits of this text. */
function learnedChance (
  text: TextAnalysis, profile: ModelProfile, { kindLevels, ordinaryLevel, traitKinds }: RouterWeights
): number {
  const level = profile.ownQuality === null ? profile.level : domainLevel(text, profile) - ordinaryLevel
  let sum = 0
  let trait = 0
  for (let kind = 0; kind < text.kinds.length; kind++) {
    const share = text.kinds[kind] as number
    let inKind = level + (kindLevels[kind] as number) + (profile.kinds[kind] as number)
    for (; traitKinds[trait] === kind; trait++) {
      inKind += (text.traits[trait] as number) * (profile.slopes[trait] as number)
    }
    if (share > 0) sum += share * sigmoid(inKind)
  }
  return sum
}

/** Log-odds of a good answer from the domains of a text alone. */
function domainLevel ({ domains }: TextAnalysis, { levels }: ModelProfile): number {
  let level = 0
  for (let domain = 0; domain < domains.length; domain++) {
    level += (domains[domain] as number) * (levels[domain] as number)
  }
  return level
}
