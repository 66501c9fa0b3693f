import type { ModelConfig, PolicyConfig } from '../catalogue/types.ts'
import { compileGlob } from '../shared/glob.ts'
import { tokenPriceOf, type TokenPrice } from '../billing/token-price.ts'
import { createProfile, type ModelProfile } from './scoring/profile.ts'
import { domains, type RouterWeights } from './scoring/weights.ts'
import type { RoutingPolicy } from './types.ts'
import type { FeedbackOffsets } from './feedback/types.ts'

/** A model with its profile and prices, computed once per configuration. */
export interface PoolModel {
  model: ModelConfig
  profile: ModelProfile
  /** The prices of its deployments; empty: it is not sold by the token. */
  prices: readonly TokenPrice[]
}

/** The models and policies of one configuration. */
export interface ModelPool {
  models: readonly PoolModel[]
  byId: ReadonlyMap<string, PoolModel>
  policies: ReadonlyMap<string, RoutingPolicy>
}

/** Prepares the models and policies of a configuration, so that a decision only compares numbers. */
export function createModelPool (
  models: readonly ModelConfig[],
  policies: readonly PolicyConfig[],
  weights: RouterWeights,
  { byModel }: FeedbackOffsets
): ModelPool {
  const prepared = models.map(model => toPoolModel(model, weights, byModel.get(model.id)))
  return {
    models: prepared,
    byId: new Map(prepared.map(one => [one.model.id, one])),
    policies: new Map(policies.map(config => [config.id, { config, allows: createMatcher(config.models) }]))
  }
}

function toPoolModel (
  model: ModelConfig, weights: RouterWeights, offsets: ReadonlyMap<string, number> | undefined
): PoolModel {
  const names = [model.id, ...model.deployments.map(({ model }) => model)]
  const prices = model.deployments.map(({ price }) => price ?? model.price)
    .filter(price => price !== null && price.inputPico !== null && price.outputPico !== null)
    .map(price => tokenPriceOf({ id: model.id, price }))
  const profile = createProfile({ ...model, names }, weights)
  if (offsets !== undefined) profile.offsets = Float32Array.from(domains, domain => offsets.get(domain) ?? 0)
  return { model, profile, prices }
}

/** Returns a memoized test whether a model matches one of the globs. */
function createMatcher (globs: readonly string[]): (model: string) => boolean {
  if (globs.includes('*')) return () => true
  const matchers = globs.map(glob => compileGlob(glob))
  const memoized = new Map<string, boolean>()
  return model => {
    const isMatch = memoized.get(model) ?? matchers.some(matches => matches(model))
    if (memoized.size < maxMemoized) memoized.set(model, isMatch)
    return isMatch
  }
}

const maxMemoized = 10_000
