import { deploymentDefaults } from '../../schemas/config/models.ts'
import type { ModelConfig } from '../../services/config/catalogue/types.ts'
import { createRouter, type Router } from '../../services/routing/router.ts'
import type { RouterWeights } from '../../services/routing/scoring/weights.ts'
import type { TrainingRow, TrainingData } from '../../tools/routing/data.ts'
import { hullOf, qualityAt, type CostPoint } from './metrics.ts'
import { toCatalogueModel, type WeightsOf } from './scorers.ts'
import { answeredBy, costOf, type EvaluationPool } from './tables.ts'
import { fixedCatalogue } from '../../test/services/routing/fixed-catalogue.ts'

/** What a policy costs and reaches on a pool; `gain` is by how much that is over the single models' hull. */
export interface PolicyLine extends CostPoint {
  policy: string
  gain: number
  /** The models that it chose most often, and the share of the prompts that each got. */
  chosen: [string, number][]
}

const policies = ['auto', 'auto:cost', 'auto:quality']

/**
 * Lets the router as it is in the gateway choose among the models of a pool, and compares what that costs and
 * reaches with what mixing single models at random reaches at the same cost.
 */
export function policyLines (
  pool: EvaluationPool, rows: readonly TrainingRow[], data: TrainingData, weightsOf: WeightsOf
): PolicyLine[] {
  const answered = answeredBy(pool, rows)
  const pointOf = (choose: (row: TrainingRow) => string) => {
    const point: CostPoint = { cost: 0, quality: 0 }
    for (const { row, weight } of answered) {
      const model = choose(row)
      point.cost += weight * costOf(row, model, data)
      point.quality += weight * (row.y[model] ?? 0)
    }
    return point
  }
  const models = pool.models.map(name => toModel(name.toLowerCase(), pool, data))
  const hull = hullOf(models.map(({ id }) => pointOf(() => id)))
  const routers = new Map<RouterWeights, Router>()
  const routerFor = (row: TrainingRow) => {
    const weights = weightsOf(row)
    const router = routers.get(weights) ?? routerOf(models, weights)
    routers.set(weights, router)
    return router
  }
  return policies.map(policy => {
    const shares = new Map<string, number>()
    const each = new Map(answered.map(({ row, weight }) => {
      const model = chosenBy(routerFor(row), row, policy)
      shares.set(model, (shares.get(model) ?? 0) + weight)
      return [row, model]
    }))
    const point = pointOf(row => each.get(row) ?? '')
    const gain = point.quality - qualityAt(hull, point.cost)
    return { policy, ...point, gain, chosen: [...shares].sort((a, b) => b[1] - a[1]).slice(0, 3) }
  })
}

/**
 * The pools of the data, then one for each benchmark that is not one of them: with the models of the first
 * pool that has it, else with all models of known price that answered nearly all of it.
 */
export function poolsOf (pools: readonly EvaluationPool[], { rows, models }: TrainingData): EvaluationPool[] {
  const families = [...new Set(rows.map(({ family }) => family))].filter(family => {
    return !pools.some(pool => pool.families.length === 1 && pool.families[0] === family)
  })
  return [...pools, ...families.map(family => {
    const own = rows.filter(row => row.family === family)
    const priced = Object.keys(models).filter(name => models[name]?.price_in != null)
    const usual = priced.filter(name => own.filter(({ y }) => name in y).length > 0.9 * own.length)
    const pool = pools.find(({ families }) => families.includes(family)) ?? { models: usual }
    return { ...pool, id: family, families: [family] }
  })]
}

function chosenBy (router: Router, { messages }: TrainingRow, policy: string): string {
  const { ranked } = router.decide({
    request: { model: policy, messages },
    key: 'evaluation',
    mayUse: () => true,
    conversation: null,
    candidates: null,
    availableNano: null
  })
  return ranked[0]?.id ?? ''
}

function routerOf (models: readonly ModelConfig[], weights: RouterWeights): Router {
  return createRouter({
    weights,
    catalogue: fixedCatalogue(models),
    deployments: { isAvailable: () => true, expected: (_provider, _model, seed = usualSpeed) => seed }
  })
}

const usualSpeed = { firstTokenMs: 500, tokensPerSecond: 80 }

function toModel (
  id: string, { speed_assumed_ttft_ms_tps: speeds }: EvaluationPool, data: TrainingData
): ModelConfig {
  const [firstTokenMs, tokensPerSecond] = speeds?.[id] ?? []
  const isKnown = firstTokenMs !== undefined && tokensPerSecond !== undefined
  return {
    ...toCatalogueModel(id, data.models[id]),
    id,
    kind: 'chat',
    deployments: [{ provider: 'evaluation', model: id, ...deploymentDefaults }],
    contextWindow: 1_000_000,
    maxOutput: null,
    ownedBy: 'evaluation',
    ...(isKnown ? { speed: { firstTokenMs, tokensPerSecond } } : {})
  }
}
