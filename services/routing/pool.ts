import type { ModelConfig, PolicyConfig } from '../catalogue/types.ts'
import { compileGlob } from '../shared/glob.ts'
import { tokenPriceOf, type TokenPrice } from '../billing/token-price.ts'
import { profileOf, type Profile } from './scoring/profile.ts'
import { domains, type Weights } from './scoring/weights.ts'
import type { Policy } from './types.ts'
import type { Offsets } from './feedback/types.ts'

/** A model as the router sees it: made once for each configuration. */
export interface Entry {
  model: ModelConfig
  profile: Profile
  /** What it costs where it runs; empty: it is not sold by the token. */
  prices: readonly TokenPrice[]
}

/** The models on offer and the policies, as of one configuration. */
export interface Pool {
  entries: readonly Entry[]
  byId: ReadonlyMap<string, Entry>
  policies: ReadonlyMap<string, Policy>
}

/**
 * Prepares the models and policies of a configuration, with what was learned from feedback, so that a
 * decision only has to compare numbers.
 */
export function createPool (
  models: readonly ModelConfig[], policies: readonly PolicyConfig[], weights: Weights, { byModel }: Offsets
): Pool {
  const entries = models.map(model => toEntry(model, weights, byModel.get(model.id)))
  return {
    entries,
    byId: new Map(entries.map(entry => [entry.model.id, entry])),
    policies: new Map(policies.map(config => [config.id, { config, allows: allowing(config.models) }]))
  }
}

function toEntry (
  model: ModelConfig, weights: Weights, offsets: ReadonlyMap<string, number> | undefined
): Entry {
  const names = [model.id, ...model.deployments.map(({ model }) => model)]
  const prices = model.deployments.map(({ price }) => price ?? model.price)
    .filter(price => price !== null && price.inputPico !== null && price.outputPico !== null)
    .map(price => tokenPriceOf({ id: model.id, price }))
  const profile = profileOf({ ...model, names }, weights)
  return {
    model,
    profile: offsets === undefined
      ? profile
      : {
          ...profile, offsets: inOrder(offsets)
        },
    prices
  }
}

function inOrder (offsets: ReadonlyMap<string, number>): Float32Array {
  return Float32Array.from(domains, domain => offsets.get(domain) ?? 0)
}

/** Globs are matched once for each model. */
function allowing (globs: readonly string[]): (model: string) => boolean {
  if (globs.includes('*')) return () => true
  const matchers = globs.map(glob => compileGlob(glob))
  const known = new Map<string, boolean>()
  return model => {
    const answer = known.get(model) ?? matchers.some(matches => matches(model))
    if (known.size < maxKnown) known.set(model, answer)
    return answer
  }
}

const maxKnown = 10_000
