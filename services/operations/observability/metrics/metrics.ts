import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { RequestSummary } from '../../../requests/request-summary.ts'
import { countAccounts, type LabelBounds } from './accounts.ts'
import { countRequests } from './requests.ts'
import type { Snapshot } from './sum.ts'

/** One value of a metric with labels. */
export interface Reading { labels: Record<string, string>, value: number }

/** Reads a metric when metrics are collected: a number, or one for each combination of labels. */
export type Read = () => number | readonly Reading[] | Promise<number | readonly Reading[]>

interface Description {
  /** In snake case with its unit last, after `tollgate_`, e.g. `ledger_flush_seconds`. */
  name: string
  help: string
  /** Few values each, because Prometheus stores every combination. */
  labels?: readonly string[]
  /** How the values of a node's workers are combined; by default their sum. */
  across?: 'min' | 'max'
}

/** The metrics of this process. */
export interface Metrics {
  /** Counts a finished request. */
  request (finished: RequestSummary): void
  /** Registers a value that goes up and down. */
  gauge (description: Description, read: Read): void
  /** Registers a value that only grows while the process runs; its name ends in `_total`. */
  counter (description: Description, read: Read): void
  /** Registers a distribution over `bounds`; returns the function that records a value. */
  histogram (description: Description & { bounds: readonly number[] }): (value: number) => void
  /** All readable metrics in Prometheus' text format. */
  text (): Promise<string>
  /** The same as data, to be added to other processes' metrics. */
  snapshot (): Promise<Snapshot>
  readonly contentType: string
}

/** The type of Prometheus' text format. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

const prefix = 'tollgate_'

/**
 * Creates the metrics, including those of requests and of the process. `bounds` limits the accounts and
 * keys with separate metrics. `onError` receives failed reads.
 * Long because its short methods share private state.
 */
export function createMetrics (
  onError: (error: unknown, name: string) => void, bounds: LabelBounds = { accounts: 0, keys: 0 }
): Metrics {
  const registry = new Registry()
  const countRequest = countRequests(registry)
  const countAccount = bounds.accounts + bounds.keys > 0 ? countAccounts(registry, bounds) : null
  let isMeasuringProcess = false

  type Kind = typeof Counter | typeof Gauge

  function add (Metric: Kind, { name, help, labels = [], across }: Description, read: Read): void {
    registry.registerMetric(new Metric({
      name: prefix + name,
      help,
      labelNames: [...labels],
      aggregator: across ?? 'sum',
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

  /** Started by the first read, so that it is free without one. */
  function measureProcess (): void {
    if (!isMeasuringProcess) collectDefaultMetrics({ register: registry })
    isMeasuringProcess = true
  }

  return {
    request: countAccount === null
      ? countRequest
      : finished => {
        countRequest(finished)
        countAccount(finished)
      },
    gauge: (description, read) => add(Gauge, description, read),
    counter: (description, read) => add(Counter, description, read),
    histogram ({ name, help, bounds }) {
      const histogram = new Histogram({ name: prefix + name, help, buckets: [...bounds], registers: [] })
      registry.registerMetric(histogram)
      return histogram.observe.bind(histogram)
    },
    async text () {
      measureProcess()
      return await registry.metrics()
    },
    async snapshot () {
      measureProcess()
      return await registry.getMetricsAsJSON()
    },
    contentType: metricsType
  }
}
