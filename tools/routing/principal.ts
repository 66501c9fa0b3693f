import { createRandom } from './data.ts'

const rounds = 300

/**
 * The directions, of length 1, along which some points vary most, by power iteration; `points` are taken to
 * be about 0 on average.
 */
export function principal (points: readonly Float64Array[], count: number, seed: number): Float64Array[] {
  const width = points[0]?.length ?? 0
  const random = createRandom(seed)
  const covariance = Array.from({ length: width }, () => new Float64Array(width))
  for (const point of points) covariance.forEach((line, i) => add(line, point, point[i] as number))
  return Array.from({ length: Math.min(count, width) }, () => {
    let direction = Float64Array.from({ length: width }, () => random() - 0.5)
    let size = 1
    for (let round = 0; round < rounds; round++) {
      const next = direction.map((_, i) => dot(covariance[i] as Float64Array, direction))
      size = Math.sqrt(dot(next, next)) || 1
      direction = next.map(value => value / size)
    }
    covariance.forEach((line, i) => add(line, direction, -size * (direction[i] as number)))
    return direction
  })
}

export function dot (one: Float64Array, other: Float64Array): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += (one[at] as number) * (other[at] as number)
  return sum
}

/** Adds a multiple of `other` to `one`. */
export function add (one: Float64Array, other: Float64Array, factor: number): void {
  for (let at = 0; at < one.length; at++) one[at] = (one[at] as number) + factor * (other[at] as number)
}
