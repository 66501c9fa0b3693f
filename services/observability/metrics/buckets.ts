import type { Registration } from './registrations.ts'

/** The observations of one series: how many fell in each bucket, the last one being for what exceeds all. */
export interface Buckets { counts: number[], count: number, sum: number }

/** One series as it is shown. */
export interface Series { labels: Record<string, string>, buckets: Buckets }

export function createBuckets (bounds: readonly number[]): Buckets {
  return { counts: Array<number>(bounds.length + 1).fill(0), count: 0, sum: 0 }
}

/** Counts a value; nothing is allocated. */
export function observe (buckets: Buckets, bounds: readonly number[], value: number): void {
  let index = 0
  while (index < bounds.length && value > (bounds[index] ?? Infinity)) index++
  buckets.counts[index] = (buckets.counts[index] ?? 0) + 1
  buckets.count++
  buckets.sum += value
}

interface HistogramOptions {
  name: string
  help: string
  bounds: readonly number[]
  labelNames: readonly string[]
  series: () => Iterable<Series>
}

/**
 * A histogram whose observations are counted elsewhere: the library's own looks its labels up for each one,
 * which costs a request more than all the rest of its metrics.
 */
export function histogramOf ({ name, help, bounds, labelNames, series }: HistogramOptions): Registration {
  return ({ library: { Histogram }, registry }) => {
    const described = { name, help, buckets: [...bounds], labelNames: [...labelNames], registers: [] }
    const histogram = new Histogram(described)
    registry.registerMetric(histogram)
    const get = async () => {
      const values = [...series()].flatMap(one => valuesOf(name, bounds, one))
      return { name, help, type: 'histogram', values, aggregator: 'sum' }
    }
    Object.assign(histogram, { get, getForPromString: get })
  }
}

function valuesOf (name: string, bounds: readonly number[], { labels, buckets }: Series) {
  let total = 0
  const values = buckets.counts.map((count, index) => {
    total += count
    const le = index < bounds.length ? String(bounds[index]) : '+Inf'
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total }
  })
  return [
    ...values,
    { metricName: `${name}_sum`, labels, value: buckets.sum },
    { metricName: `${name}_count`, labels, value: buckets.count }
  ]
}
