import { fitnessOf, fitnessOrder, type Fitness } from '../config/catalogue/default-pool.ts'
import type { ModelConfig, PolicyConfig } from '../config/catalogue/types.ts'
import { compileGlob } from '../shared/glob.ts'
import { tokenPriceOf, type TokenPrice } from '../billing/token-price.ts'
import { createProfile, type ModelProfile } from './scoring/profile.ts'
import type { RouterWeights } from './scoring/weights.ts'
import type { RoutingPolicy } from './types.ts'

/** A model with its profile and prices, computed once per configuration. */
export interface PoolModel {
  model: ModelConfig
  profile: ModelProfile
  /** The prices of its deployments; empty: it is not sold by the token. */
  prices: readonly TokenPrice[]
  /** Whether a policy that does not name it chooses it. */
  fitness: Fitness
}

/** The models and policies of one configuration. */
export interface ModelPool {
  models: readonly PoolModel[]
  byId: ReadonlyMap<string, PoolModel>
  policies: ReadonlyMap<string, RoutingPolicy>
}

interface PoolSource {
  models: readonly ModelConfig[]
  policies: readonly PolicyConfig[]
  /** Whether a provider answers with canned text. */
  isSandbox: (provider: string) => boolean
}

/** Prepares the models and policies of a configuration, so that a decision only compares numbers. */
export function createModelPool (
  { models, policies, isSandbox }: PoolSource, weights: RouterWeights
): ModelPool {
  const deployments = models.flatMap(({ deployments }) => deployments)
  const names = new Set(deployments.map(({ provider, model }) => `${provider}/${model}`))
  const prepared = models.map(model => ({
    ...toPoolModel(model, weights),
    fitness: fitnessOf(model, names, isSandbox)
  }))
  return {
    models: prepared,
    byId: new Map(prepared.map(one => [one.model.id, one])),
    policies: new Map(policies.map(config => [config.id, toPolicy(config, prepared)]))
  }
}

function toPoolModel (model: ModelConfig, weights: RouterWeights): Omit<PoolModel, 'fitness'> {
  const names = [model.id, ...model.deployments.map(({ model }) => model)]
  const prices = model.deployments.map(({ price }) => price ?? model.price)
    .filter(price => price !== null && price.inputPico !== null && price.outputPico !== null)
    .map(price => tokenPriceOf({ id: model.id, price }))
  return { model, profile: createProfile({ ...model, names }, weights), prices }
}

/** A policy whose ranks are computed on first use. */
function toPolicy (config: PolicyConfig, models: readonly PoolModel[]): RoutingPolicy {
  let ranks: ReadonlyMap<string, number> | undefined
  return {
    config,
    get ranks () {
      ranks ??= ranksOf(config.models, models)
      return ranks
    }
  }
}

/**
 * Ranks the models that match a pattern: curated models first, then free trials, others that can chat, the
 * sandbox, and the rest. A pattern other than `*` names the best that it matches, which ranks first: free
 * trials if there is nothing curated, and all that it matches if there are none of them either.
 */
export function ranksOf (patterns: readonly string[], models: readonly PoolModel[]): Map<string, number> {
  const ranks = new Map<string, number>()
  for (const pattern of new Set(patterns)) {
    const matched = pattern === '*' ? models : matching(pattern, models)
    const orders = matched.map(({ fitness }) => fitnessOrder.indexOf(fitness))
    const first = pattern === '*' ? 0 : Math.min(...orders)
    const isChoice = first <= fitnessOrder.indexOf('trial')
    for (const { model: { id }, fitness } of matched) {
      const rank = isChoice ? fitnessOrder.indexOf(fitness) - first : 0
      ranks.set(id, Math.min(rank, ranks.get(id) ?? Infinity))
    }
  }
  return ranks
}

function matching (pattern: string, models: readonly PoolModel[]): readonly PoolModel[] {
  const matches = compileGlob(pattern)
  return models.filter(({ model }) => matches(model.id))
}
