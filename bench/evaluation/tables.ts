import { createRandom, type TrainingRow, type TrainingData } from '../../tools/routing/data.ts'
import { mean } from '../statistics.ts'
import { averageQuality, pairMetrics, type CostPoint } from './metrics.ts'
import type { Scorer } from './scorers.ts'

export interface ModelPair { id: string, family: string, strong: string, weak: string }
export interface EvaluationPool {
  id: string
  families: string[]
  models: string[]
  /** Milliseconds to the first token and tokens per second of each model. */
  speed_assumed_ttft_ms_tps?: Record<string, [number, number]>
}

/** APGR, CPT and their names as other papers report them on the same prompts. */
export const published: Readonly<Record<string, string>> = {
  mmlu: 'RouteLLM with 1.5k labels: SW .603, causal LLM .600, MF .597, BERT .572; keyword routers .535'
}

/** One line of the table of a pair. */
export interface PairLine {
  router: string,
  cpt50: number,
  cpt80: number,
  apgr: number,
  low?: number,
  high?: number
  /** The APGR of prompts drawn with replacement. */
  drawn?: readonly number[]
}

const resamples = 200

/** Measures routers on the prompts that both models of a pair have answered. */
export function pairLines (
  pair: ModelPair, rows: readonly TrainingRow[], routers: Readonly<Record<string, Scorer>>
): PairLine[] {
  const [strong, weak] = [pair.strong.toLowerCase(), pair.weak.toLowerCase()]
  const answered = rows.filter(({ family, y }) => family === pair.family && strong in y && weak in y)
  const [best, worst] = [strong, weak].map(
    model => answered.map(({ y }) => y[model] ?? 0)
  ) as [number[], number[]]
  const random = createRandom(1)
  return Object.entries(routers).map(([router, scorer]) => {
    const gaps = answered.map(row => {
      const [low = 0, high = 0] = scorer(row, [weak, strong])
      return high - low + random() * 1e-9
    })
    const drawn = Array.from({ length: resamples }, () => {
      const rows = answered.map(() => Math.floor(random() * answered.length))
      const pick = (values: readonly number[]) => rows.map(at => values[at] ?? 0)
      return pairMetrics(pick(gaps), pick(best), pick(worst)).apgr
    })
    return { router, ...pairMetrics(gaps, best, worst), ...intervalOf(drawn), drawn }
  })
}

/**
 * One line of the table of a pool. `recovered` is the share of the way from single models to the oracle,
 * `ofFamilies` to one that knows of a prompt only which benchmark it is from: null where that is no help.
 */
export interface PoolLine { router: string, aiq: number, recovered: number, ofFamilies: number | null }

const prices = [0, ...Array.from({ length: 120 }, (_, at) => 10 ** (-6 + 7 * at / 119)), Infinity]

/** Measures routers on a pool of models over the whole range of what quality may cost. */
export function poolLines (
  pool: EvaluationPool,
  rows: readonly TrainingRow[],
  data: TrainingData,
  routers: Readonly<Record<string, Scorer>>
): { lines: PoolLine[], cheapest: CostPoint, best: CostPoint, zero: number } {
  const outputPrice = (model: string) => data.models[model]?.price_out ?? 0
  // From the cheapest up, which the simple routers take for the order of strength.
  const models = pool.models.map(model => model.toLowerCase()).sort((a, b) => outputPrice(a) - outputPrice(b))
  const answered = answeredBy(pool, rows)
  const costs = answered.map(({ row }) => models.map(model => costOf(row, model, data)))
  const usual = models.map((_, at) => answered.reduce(
    (sum, { weight }, one) => sum + weight * (costs[one]?.[at] ?? 0), 0
  ))
  const point = (choose: (one: number) => number): CostPoint => {
    let [cost, quality] = [0, 0]
    answered.forEach(({ row, weight }, one) => {
      const chosen = choose(one)
      cost += weight * (costs[one]?.[chosen] ?? 0)
      quality += weight * (row.y[models[chosen] ?? ''] ?? 0)
    })
    return { cost, quality }
  }
  const singles = models.map((_, at) => point(() => at))
  const byCost = singles.toSorted((a, b) => a.cost - b.cost)
  const [cheapest, dearest] = [byCost[0] as CostPoint, byCost.at(-1) as CostPoint]
  const aiqOf = (points: readonly CostPoint[]) => averageQuality(points, cheapest.cost, dearest.cost)
  const zero = aiqOf(singles)
  const best = singles.reduce((one, other) => other.quality > one.quality ? other : one)
  /** What is reached at each price of quality by who takes scores and costs for those of the models. */
  const pointsOf = (scores: readonly number[][], costsSeen: readonly number[][]) => prices.map(price => {
    return point(one => highest(models.map((_, at) => {
      const cost = costsSeen[one]?.[at] ?? 0
      if (price === 0) return -cost
      return (scores[one]?.[at] ?? 0) - (price === Infinity ? 1e-9 * cost : cost / price)
    })))
  })
  const measured = Object.entries(routers).map(([router, scorer]) => {
    const scores = answered.map(({ row }) => scorer(row, models))
    return { router, aiq: aiqOf(pointsOf(scores, router === 'oracle' ? costs : answered.map(() => usual))) }
  })
  const ceiling = measured.find(({ router }) => router === 'oracle')?.aiq ?? zero
  const families = answered.map(({ row }) => row.family)
  const marks = answered.map(({ row }) => models.map(model => row.y[model] ?? 0))
  const knowing = aiqOf([...pointsOf(meansBy(families, marks), meansBy(families, costs)), ...singles])
  return {
    lines: measured.map(line => ({
      ...line,
      recovered: (line.aiq - zero) / (ceiling - zero),
      ofFamilies: knowing - zero > 1e-4 ? (line.aiq - zero) / (knowing - zero) : null
    })),
    cheapest,
    best,
    zero
  }
}

/** In place of each row the mean of all rows of its group. */
function meansBy (groups: readonly string[], rows: readonly number[][]): number[][] {
  const members = Map.groupBy(rows, (_, at) => groups[at])
  const means = new Map([...members].map(([group, own]) => {
    return [group, own[0]?.map((_, column) => mean(own.map(row => row[column] ?? 0))) ?? []]
  }))
  return groups.map(group => means.get(group) ?? [])
}

/** The prompts that all models of a pool have answered; each benchmark weighs the same, all together 1. */
export function answeredBy (
  { families, models }: EvaluationPool, rows: readonly TrainingRow[]
): { row: TrainingRow, weight: number }[] {
  const names = models.map(name => name.toLowerCase())
  return families.flatMap(family => {
    const own = rows.filter(row => row.family === family && names.every(name => name in row.y))
    return own.map(row => ({ row, weight: 1 / own.length / families.length }))
  })
}

/** Within what 95 % of some draws are. */
function intervalOf (drawn: readonly number[]): { low: number, high: number } {
  const sorted = drawn.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN
  return { low: at(0.025), high: at(0.975) }
}

/** The 95 % interval of the mean over pairs, as far as it depends on the choice of prompts. */
export function meanInterval (lines: readonly PairLine[][], router: string): { low: number, high: number } {
  const own = lines.flatMap(pair => pair.find(line => line.router === router)?.drawn ?? [])
  return intervalOf(Array.from({ length: resamples }, (_, draw) => {
    return mean(lines.map((_, pair) => own[pair * resamples + draw] ?? NaN))
  }))
}

export function meanApgr (lines: readonly PairLine[][], router: string): number {
  return mean(lines.map(pair => pair.find(line => line.router === router)?.apgr ?? NaN))
}

/** In USD: four characters a token, and twenty tokens around them. */
export function costOf (row: TrainingRow, model: string, data: TrainingData): number {
  const { price_in: input, price_out: output } = data.models[model] ?? {}
  const chars = row.messages.reduce((sum, { content }) => sum + (
    typeof content === 'string' ? content.length : 0
  ), 0)
  const written = row.out?.[model] ?? data.defaultOutput[row.family] ?? 300
  return ((chars / 4 + 20) * (input ?? 0) + written * (output ?? 0)) / 1e6
}

function highest (values: readonly number[]): number {
  return values.reduce((best, value, at) => value > (values[best] ?? -Infinity) ? at : best, 0)
}
