/** The middle of some measurements, unless told otherwise their median, and how far they spread. */
export interface Spread { middle: number, min: number, max: number }

/** A figure and its standard error. */
export interface Estimate { value: number, error: number }

/** The value below which such a share of the values lies, 0 to 1; NaN for an empty list. */
export function quantileOf (values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(
    values.length - 1, Math.floor(values.length * share)
  )] ?? NaN
}

/** Returns NaN for an empty list. */
export function spreadOf (values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const low = sorted[Math.ceil(middle) - 1] ?? NaN
  const high = sorted[Math.floor(middle)] ?? NaN
  return { middle: (low + high) / 2, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN }
}

/** The smaller half of the values, with the middle one. */
export function lowerHalfOf (values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b).slice(0, Math.ceil(values.length / 2))
}

/** NaN for an empty list. */
export function mean (values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/**
 * The standard error of a figure that is worked out from independent observations: from how much it changes
 * when each is left out in turn (the jackknife). NaN for less than two.
 */
export function standardErrorOf<Observation> (
  observations: readonly Observation[], figure: (some: readonly Observation[]) => number
): number {
  const count = observations.length
  if (count < 2) return NaN
  const without = observations.map((_, left) => figure(observations.toSpliced(left, 1)))
  const center = mean(without)
  return Math.sqrt(mean(without.map(value => (value - center) ** 2)) * (count - 1))
}
