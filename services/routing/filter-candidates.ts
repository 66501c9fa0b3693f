import type { ModelConfig } from '../config/catalogue/types.ts'
import { violatedConstraint } from './constraints.ts'
import { outputWithin, unknownUsual } from '../billing/max-cost.ts'
import { promptSize } from '../billing/prompt-size.ts'
import type { Exclusion, RoutingConstraint, RoutingPermissions, UnmetByModel } from './constraints.ts'
import { estimateModel, type BoundedEstimate, type EstimateContext } from './estimate.ts'
import { ranksOf, type ModelPool, type PoolModel } from './model-pool.ts'
import { splitByParameters } from './parameters.ts'
import { compileGlob } from '../shared/glob.ts'
import type { DeploymentStates, RoutingPolicy, RoutingRequest } from './types.ts'

/** An answer may be cut to this many tokens if no model can give all of it within the ceiling. */
const leastCutTokens = 256

/** The models that can take a request, and a function that lists the others. */
export interface FilteredModels {
  possible: BoundedEstimate[]
  /** Those that could, if they dropped some of its parameters. */
  reserve: BoundedEstimate[]
  excluded: () => Exclusion[]
}

/**
 * Applies every constraint to every model that the key may use, and estimates those that pass. `sticky` is
 * the model of the conversation, whose provider has cached the earlier tokens.
 */
export function filterCandidates (
  routing: RoutingRequest,
  policy: RoutingPolicy,
  pool: ModelPool,
  context: EstimateContext & Pick<RoutingPermissions, 'isServed' | 'isInRegion'> & { unmetBy: UnmetByModel | null },
  sticky: string | undefined
): FilteredModels {
  const { considered, unknown, rankOf } = consider(routing, policy, pool)
  const rank = lowestRank(considered, rankOf)
  const { isServed, isInRegion } = context
  const permissions = { rankOf, rank, isServed, isInRegion, isHealthy: healthy(context.deployments) }
  // An account without credit can still ask models that cost nothing.
  const creditNano = routing.availableNano === null ? null : Math.max(0, routing.availableNano)
  const { ceilingNano } = policy.config
  const isWithinCeiling = limitCheck(routing, ceilingNano)
  const isPayable = limitCheck(routing, creditNano)
  const heldTokens = context.request.maxTokens ?? unknownUsual
  const affordable: BoundedEstimate[] = []
  const cut: BoundedEstimate[] = []
  const tooDear: Exclusion[] = []
  for (const one of considered) {
    const { id } = one.model
    if (constraintOf(one, context, permissions) !== null) continue
    const estimate = estimateModel(one, context, id === sticky ? context.request.earlierTokens : 0)
    const { outputTokens, maxCostNano } = estimate
    if (!isWithinCeiling(one, outputTokens)) {
      tooDear.push({ model: id, constraint: 'ceiling' })
      if (isWithinCeiling(one, Math.min(outputTokens, leastCutTokens))) cut.push(estimate)
    } else if (maxCostNano > (creditNano ?? Infinity) || !isPayable(one, heldTokens)) {
      tooDear.push({ model: id, constraint: 'credit' })
    } else affordable.push(estimate)
  }
  // An answer that ends at the ceiling is better than none.
  if (affordable.length === 0) affordable.push(...cut)
  const modelOf = (id: string) => pool.byId.get(id)?.model
  const { meeting, reserve, excluded: lacking } = splitByParameters(affordable, modelOf, context.unmetBy)

  /** Computed only where it is shown, because a catalogue may have a thousand models. */
  function excluded (): Exclusion[] {
    const unable = considered.flatMap(one => {
      const constraint = constraintOf(one, context, permissions)
      return constraint === null ? [] : [{ model: one.model.id, constraint }]
    })
    const ruledOut = tooDear.filter(({ model }) => !affordable.some(({ id }) => id === model))
    return [...lacking, ...ruledOut, ...unable, ...unknown.map(model => ({ model, constraint: 'unknown' as const }))]
  }

  return { possible: meeting, reserve, excluded }
}

/** The chat models that a policy chooses from at first, for a key. */
export function modelsInReach (
  mayUse: RoutingRequest['mayUse'], { ranks }: RoutingPolicy, { models }: ModelPool
): ModelConfig[] {
  const usable = models.filter(({ model }) => mayUse(model.id))
  const rankOf = (model: string): number | null => ranks.get(model) ?? null
  const rank = lowestRank(usable, rankOf)
  return usable.filter(({ model, prices }) => model.kind === 'chat' && prices.length > 0 && rankOf(model.id) === rank)
    .map(({ model }) => model)
}

interface Considered {
  considered: readonly PoolModel[]
  /** Names and patterns on the request's list that match no model which the key may use. */
  unknown: readonly string[]
  rankOf: RoutingPermissions['rankOf']
}

/**
 * The models that the key may use, of those on the request's list if it has one. A list is like that of a
 * policy: what it names is chosen, as far as the policy has it at all.
 */
function consider (
  { candidates, mayUse }: RoutingRequest, { ranks }: RoutingPolicy, { models }: ModelPool
): Considered {
  const usable = models.filter(({ model }) => mayUse(model.id))
  const rankOf = (model: string): number | null => ranks.get(model) ?? null
  if (candidates === null) return { considered: usable, unknown: [], rankOf }
  const requested = ranksOf(candidates, usable)
  return {
    considered: usable.filter(({ model }) => requested.has(model.id)),
    unknown: [...new Set(candidates)].filter(name => !requested.has(name) && !usable.some(matching(name))),
    rankOf: model => ranks.has(model) ? requested.get(model) ?? null : null
  }
}

function matching (pattern: string): (model: PoolModel) => boolean {
  const matches = compileGlob(pattern)
  return ({ model }) => matches(model.id)
}

/** The lowest rank of the models that could serve some request. */
function lowestRank (considered: readonly PoolModel[], rankOf: RoutingPermissions['rankOf']): number {
  let lowest = Infinity
  for (const { model, prices } of considered) {
    if (model.kind === 'chat' && prices.length > 0) lowest = Math.min(lowest, rankOf(model.id) ?? Infinity)
  }
  return lowest
}

function constraintOf (
  { model, prices }: PoolModel, { request }: EstimateContext, permissions: RoutingPermissions
): RoutingConstraint | null {
  return violatedConstraint(model, request, permissions) ?? (prices.length === 0 ? 'price' : null)
}

type LimitCheck = (model: PoolModel, outputTokens: number) => boolean

/**
 * Returns a check whether a request with an answer of `outputTokens` costs at most `limitNano` (nano-USD;
 * null: no limit) at the model's highest price, by the bounds that a hold uses. Under a ceiling the call is
 * then sent with the output limit that keeps it, see `maxCost`.
 */
function limitCheck ({ request, bodyBytes: received }: RoutingRequest, limitNano: number | null): LimitCheck {
  if (limitNano === null) return () => true
  const bodyBytes = received ?? Buffer.byteLength(JSON.stringify(request))
  const prompt = promptSize(request, bodyBytes)
  return ({ model, prices }, outputTokens) => prices.every(price => {
    const tokens = Math.min(outputTokens, model.maxOutput ?? Infinity)
    return outputWithin({ request, prompt, limits: model, price }, limitNano) >= Math.max(1, tokens)
  })
}

function healthy (deployments: DeploymentStates): (model: ModelConfig) => boolean {
  return model => model.deployments.some(deployment => deployments.isAvailable(deployment))
}
