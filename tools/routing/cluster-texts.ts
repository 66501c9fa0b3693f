import { signalCount } from '../../services/routing/text/signals.ts'
import type { Examples } from './examples.ts'

/** The centre of a cluster of texts of one kind. */
export interface TypicalText { kind: number, centre: Float32Array }

const clusterCount = 120
const rounds = 12
const minMembers = 5

/**
 * Clusters the texts of each kind by their signals (k-means); kinds get clusters by the square root of their
 * size.
 */
export function clusterTexts (
  { kinds, kindOf }: Examples,
  signals: readonly Float32Array[],
  chosen: readonly number[],
  random: () => number
): TypicalText[] {
  const byKind = kinds.map((_, kind) => chosen.filter(row => kindOf[row] === kind))
  const sizes = byKind.map(rows => Math.sqrt(rows.length))
  const all = sizes.reduce((sum, size) => sum + size, 0)
  return byKind.flatMap((rows, kind) => {
    if (rows.length === 0) return []
    const count = Math.max(2, Math.round(clusterCount * (sizes[kind] ?? 0) / all))
    const points = rows.map(row => signals[row] as Float32Array)
    return kMeans(points, count, random).map(centre => ({ kind, centre }))
  })
}

function kMeans (
  points: readonly Float32Array[], count: number, random: () => number
): Float32Array[] {
  const anyPoint = () => points[Math.floor(random() * points.length)] as Float32Array
  let centres = Array.from({ length: count }, anyPoint)
  let members: Float32Array[][] = []
  for (let round = 0; round < rounds; round++) {
    members = centres.map(() => [])
    for (const point of points) members[nearest(point, centres)]?.push(point)
    centres = members.map((group, index) => group.length > 0 ? meanOf(group) : centres[index] as Float32Array)
  }
  return centres.filter((_, index) => (members[index]?.length ?? 0) >= minMembers)
}

function nearest (point: Float32Array, centres: readonly Float32Array[]): number {
  let best = 0
  let least = Infinity
  centres.forEach((centre, index) => {
    const square = squareDistance(point, centre)
    if (square < least) [best, least] = [index, square]
  })
  return best
}

function meanOf (points: readonly Float32Array[]): Float32Array {
  return Float32Array.from({ length: signalCount }, (_, at) => {
    return points.reduce((sum, point) => sum + (point[at] as number), 0) / points.length
  })
}

function squareDistance (one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let at = 0; at < signalCount; at++) sum += ((one[at] as number) - (other[at] as number)) ** 2
  return sum
}
