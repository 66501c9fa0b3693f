/** The median of some measurements and their range. */
export interface Spread { middle: number, min: number, max: number }

/** A figure and its standard error. */
export interface Estimate { value: number, error: number }

/** The quantile of a share, 0 to 1; NaN for an empty list. */
export function quantileOf (values: readonly number[], share: number): number {
  const index = Math.min(values.length - 1, Math.floor(values.length * share))
  return values.toSorted((a, b) => a - b)[index] ?? NaN
}

/** The median and range of some values; NaN for an empty list. */
export function spreadOf (values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const low = sorted[Math.ceil(middle) - 1] ?? NaN
  const high = sorted[Math.floor(middle)] ?? NaN
  return { middle: (low + high) / 2, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN }
}

/** The smaller half of the values, including the middle one. */
export function lowerHalfOf (values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b).slice(0, Math.ceil(values.length / 2))
}

/** The mean; NaN for an empty list. */
export function mean (values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The jackknife standard error of a figure over independent observations; NaN for fewer than two. */
export function standardErrorOf<Observation> (
  observations: readonly Observation[], figure: (some: readonly Observation[]) => number
): number {
  const count = observations.length
  if (count < 2) return NaN
  const without = observations.map((_, left) => figure(observations.toSpliced(left, 1)))
  const center = mean(without)
  return Math.sqrt(mean(without.map(value => (value - center) ** 2)) * (count - 1))
}
