import type { Profile } from './profile.ts'
import type { Understanding } from './understand.ts'
import type { Weights } from './weights.ts'

/** No answer is certain, and none is hopeless. */
const bounds = { least: 0.02, most: 0.995 }

/**
 * The chance, 0 to 1, that a model answers a text well. On familiar text it is what was learned of the model
 * and of such texts. On other text only what carries over counts: how good the model is in the domain, and
 * how hard the text looks. There failures of all models are multiplied by the same factor, so that a harder
 * text never makes the weaker of two models the better choice.
 */
export function qualityOf (text: Understanding, profile: Profile, weights: Weights): number {
  const { familiarity, difficulty } = text
  let failure = 0
  if (familiarity > 0) {
    failure += familiarity * (1 - learnedChance(text, profile, weights)) * Math.exp(learnedShare * difficulty)
  }
  if (familiarity < 1) {
    failure += (1 - familiarity) * (1 - chance(
      domainLevel(text, profile)
    )) * Math.exp(generalShare * difficulty)
  }
  const quality = Math.max(bounds.least, Math.min(bounds.most, 1 - failure))
  return profile.offsets === null ? quality : shifted(quality, text.domains, profile.offsets)
}

function shifted (quality: number, domains: Float32Array, offsets: Float32Array): number {
  let offset = 0
  for (let at = 0; at < domains.length; at++) offset += (domains[at] as number) * (offsets[at] as number)
  return chance(Math.log(quality / (1 - quality)) + offset)
}

/**
 * How much of the difficulty counts: enough to rank texts, too little to turn a good model into a bad one; of
 * a familiar text some of it is known already.
 */
const generalShare = 0.5
const learnedShare = 0.4

/** What the model reached in the kinds that the text is like, and how far this text departs from that. */
function learnedChance (
  text: Understanding, profile: Profile, { kindLevels, ordinaryLevel, traitKinds }: Weights
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
    if (share > 0) sum += share * chance(inKind)
  }
  return sum
}

export function domainLevel ({ domains }: Understanding, { levels }: Profile): number {
  let level = 0
  for (let domain = 0; domain < domains.length; domain++) {
    level += (
      domains[domain] as number
    ) * (levels[domain] as number)
  }
  return level
}

export function chance (logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds))
}
