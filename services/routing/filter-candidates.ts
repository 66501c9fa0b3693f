import type { ModelConfig } from '../catalogue/types.ts'
import { violatedConstraint } from './constraints.ts'
import type { Exclusion, RoutingConstraint, RoutingPermissions } from './constraints.ts'
import { estimateModel, type BoundedEstimate, type EstimateContext } from './estimate.ts'
import type { ModelPool, PoolModel } from './model-pool.ts'
import type { DeploymentStates, RoutingPolicy, RoutingRequest } from './types.ts'

/** The models that can take a request, and a function that lists the others. */
export interface FilteredModels {
  possible: BoundedEstimate[]
  excluded: () => Exclusion[]
}

/**
 * Applies every constraint to every model, and estimates those that pass. `sticky` is the model of the
 * conversation, whose provider has cached the earlier tokens.
 */
export function filterCandidates (
  routing: RoutingRequest,
  policy: RoutingPolicy,
  { models, byId }: ModelPool,
  context: EstimateContext,
  sticky: string | undefined
): FilteredModels {
  const { candidates, mayUse } = routing
  const permissions = { policy, mayUse, isHealthy: healthy(context.deployments) }
  const considered = candidates === null ? models : candidates.flatMap(id => byId.get(id) ?? [])
  const limits = costLimits(routing, policy)
  const possible: BoundedEstimate[] = []
  const tooDear: Exclusion[] = []
  for (const one of new Set(considered)) {
    const { id } = one.model
    if (constraintOf(one, context, permissions) !== null) continue
    const estimate = estimateModel(one, context, id === sticky ? context.request.earlierTokens : 0)
    const exceeded = limits.find(({ maxNano }) => estimate.maxCostNano > maxNano)
    if (exceeded === undefined) possible.push(estimate)
    else tooDear.push({ model: id, constraint: exceeded.constraint })
  }

  /** Computed only where it is shown, because a catalogue may have a thousand models. */
  function excluded (): Exclusion[] {
    const unable = considered.flatMap(one => {
      const constraint = constraintOf(one, context, permissions)
      return constraint === null ? [] : [{ model: one.model.id, constraint }]
    })
    const unknown = (candidates ?? []).filter(id => !byId.has(id))
      .map(model => ({ model, constraint: 'unknown' as const }))
    return [...tooDear, ...unable, ...unknown]
  }

  return { possible, excluded }
}

function constraintOf (
  { model, prices }: PoolModel, { request }: EstimateContext, permissions: RoutingPermissions
): RoutingConstraint | null {
  return violatedConstraint(model, request, permissions) ?? (prices.length === 0 ? 'price' : null)
}

function costLimits (
  { availableNano }: RoutingRequest, { config }: RoutingPolicy
): { constraint: RoutingConstraint, maxNano: number }[] {
  return [
    { constraint: 'ceiling' as const, maxNano: config.ceilingNano ?? Infinity },
    { constraint: 'credit' as const, maxNano: availableNano ?? Infinity }
  ].filter(({ maxNano }) => maxNano < Infinity)
}

function healthy (deployments: DeploymentStates): (model: ModelConfig) => boolean {
  return model => model.deployments.some(deployment => deployments.isAvailable(deployment))
}
