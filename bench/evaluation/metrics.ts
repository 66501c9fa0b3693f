import { mean } from '../statistics.ts'

/** A router's curve between two models, as RouteLLM measures it. */
export interface PairMetrics {
  /** Percent of requests that must go to the strong model for this share of its gain. */
  cpt50: number
  cpt80: number
  /** Area under the gain over the share of strong calls; random mixing has 0.5. */
  apgr: number
}

const thresholds = 10

/**
 * CPT and APGR as RouteLLM's evaluate.py has them: the requests with the highest scores go to the strong
 * model, at eleven thresholds. Source: lm-sys/RouteLLM, routellm/evals.
 */
export function pairMetrics (
  scores: readonly number[], strong: readonly number[], weak: readonly number[]
): PairMetrics {
  const sorted = scores.toSorted((a, b) => a - b)
  const points = Array.from({ length: thresholds + 1 }, (_, at) => {
    const threshold = quantile(sorted, at / thresholds)
    let calls = 0
    let sum = 0
    scores.forEach((score, row) => {
      const isStrong = at < thresholds ? score >= threshold : score > threshold
      if (isStrong) calls++
      sum += (isStrong ? strong[row] : weak[row]) ?? 0
    })
    return { share: calls / scores.length, quality: sum / scores.length }
  }).sort((a, b) => a.share - b.share)
  const [best, worst] = [mean(strong), mean(weak)]
  let area = 0
  const rising = points.map(({ share }, at) => {
    return { x: share, y: Math.max(...points.slice(0, at + 1).map(({ quality }) => quality)) }
  })
  points.forEach(({ share, quality }, at) => {
    const before = points[at - 1]
    if (before !== undefined) area += (quality + before.quality) / 2 * (share - before.share)
  })
  const span = (points.at(-1)?.share ?? 1) - (points[0]?.share ?? 0)
  const callsFor = (gain: number) => 100 * inverse(rising, worst + gain * (best - worst))
  return { cpt50: callsFor(0.5), cpt80: callsFor(0.8), apgr: (area - worst * span) / ((best - worst) * span) }
}

/** What a router costs and how well it answers, on average. */
export interface CostPoint { cost: number, quality: number }

/**
 * Average quality over the range of cost from the cheapest to the dearest model, along the non-decreasing
 * convex hull of the points, as RouterBench has it.
 */
export function averageQuality (points: readonly CostPoint[], least: number, most: number): number {
  const hull = hullOf(points)
  const steps = 2000
  let sum = 0
  for (let step = 0; step < steps; step++) {
    sum += qualityAt(
      hull, least + (most - least) * (step + 0.5) / steps
    )
  }
  return sum / steps
}

/** The non-decreasing convex hull of some points, from the cheapest up. */
export function hullOf (points: readonly CostPoint[]): CostPoint[] {
  const hull: CostPoint[] = []
  let best = -Infinity
  for (const point of points.toSorted((a, b) => a.cost - b.cost || b.quality - a.quality)) {
    if (point.quality <= best + 1e-12) continue
    best = point.quality
    while (hull.length >= 2 && isBelow(hull[hull.length - 2], hull[hull.length - 1], point)) hull.pop()
    hull.push(point)
  }
  return hull
}

/** What a mixture of the points on a hull reaches at a cost. */
export function qualityAt (hull: readonly CostPoint[], cost: number): number {
  const after = hull.findIndex(point => point.cost >= cost)
  const [one, other] = [hull[after - 1], hull[after]]
  if (other === undefined) return hull.at(-1)?.quality ?? 0
  if (one === undefined) return other.quality
  return one.quality + (other.quality - one.quality) * (cost - one.cost) / (other.cost - one.cost)
}

function isBelow (first: CostPoint | undefined, middle: CostPoint | undefined, last: CostPoint): boolean {
  if (first === undefined || middle === undefined) return false
  return (middle.quality - first.quality) * (last.cost - first.cost) <= (
    last.quality - first.quality
  ) * (middle.cost - first.cost)
}

function quantile (sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share
  const low = Math.floor(place)
  const [one = 0, other = one] = [sorted[low], sorted[low + 1]]
  return one + (other - one) * (place - low)
}

/** Where a rising curve reaches a height. */
function inverse (curve: readonly { x: number, y: number }[], height: number): number {
  const after = curve.findIndex(({ y }) => y >= height)
  const [one, other] = [curve[after - 1], curve[after]]
  if (other === undefined) return curve.at(-1)?.x ?? 1
  if (one === undefined || other.y === one.y) return other.x
  return one.x + (other.x - one.x) * (height - one.y) / (other.y - one.y)
}
