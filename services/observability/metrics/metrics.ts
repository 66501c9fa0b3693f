import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { RequestSummary } from '../../requests/request-summary.ts'
import { countRequests } from './requests.ts'

/** One value of a metric with labels. */
export interface Reading { labels: Record<string, string>, value: number }

/** What a metric is read from: a number, or one for each combination of labels. Asked when metrics are. */
export type Read = () => number | readonly Reading[] | Promise<number | readonly Reading[]>

interface Description {
  /** In snake case with its unit last, after `tollgate_`, e.g. `ledger_flush_seconds`. */
  name: string
  help: string
  /** Few values each: every combination is kept for ever by whoever collects them. */
  labels?: readonly string[]
}

/** The metrics of this process. Every part of the gateway adds its own. */
export interface Metrics {
  /** Counts a finished request. */
  request (finished: RequestSummary): void
  /** Adds a value that goes up and down. */
  gauge (description: Description, read: Read): void
  /** Adds a value that only grows while the process lives; its name ends in `_total`. */
  counter (description: Description, read: Read): void
  /** Adds a distribution over `bounds`, and returns what counts a value in it. */
  histogram (description: Description & { bounds: readonly number[] }): (value: number) => void
  /** All of them in Prometheus' text format. A metric that cannot be read is left out. */
  text (): Promise<string>
  readonly contentType: string
}

const prefix = 'tollgate_'

/** Creates metrics with those of requests and of the process. `onError` hears of what cannot be read. */
export function createMetrics (onError: (error: unknown, name: string) => void): Metrics {
  const registry = new Registry()
  let isMeasuringProcess = false

  type Kind = typeof Counter | typeof Gauge

  function add (Metric: Kind, { name, help, labels = [] }: Description, read: Read): void {
    registry.registerMetric(new Metric({
      name: prefix + name,
      help,
      labelNames: [...labels],
      registers: [],
      async collect () {
        const values = await readSafely(name, read)
        this.reset()
        for (const { labels, value } of values) this.inc(labels, value)
      }
    }))
  }

  async function readSafely (name: string, read: Read): Promise<readonly Reading[]> {
    try {
      const value = await read()
      return typeof value === 'number' ? [{ labels: {}, value }] : value
    } catch (error) {
      onError(error, name)
      return []
    }
  }

  return {
    request: countRequests(registry),
    gauge: (description, read) => add(Gauge, description, read),
    counter: (description, read) => add(Counter, description, read),
    histogram ({ name, help, bounds }) {
      const histogram = new Histogram({ name: prefix + name, help, buckets: [...bounds], registers: [] })
      registry.registerMetric(histogram)
      return histogram.observe.bind(histogram)
    },
    async text () {
      // Costs nothing where no one reads it.
      if (!isMeasuringProcess) collectDefaultMetrics({ register: registry })
      isMeasuringProcess = true
      return await registry.metrics()
    },
    contentType: 'text/plain; version=0.0.4; charset=utf-8'
  }
}
