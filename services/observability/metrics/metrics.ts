import type { Finished } from '../../requests/request-summary.ts'
import { createBuckets, histogramOf, observe } from './buckets.ts'
import { createRegistrations } from './registrations.ts'
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
  request (finished: Finished): void
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
  const registrations = createRegistrations()

  function add (kind: 'Counter' | 'Gauge', { name, help, labels = [] }: Description, read: Read): void {
    registrations.add(({ library, registry }) => registry.registerMetric(new library[kind]({
      name: prefix + name,
      help,
      labelNames: [...labels],
      registers: [],
      async collect () {
        const values = await readSafely(name, read)
        this.reset()
        for (const { labels, value } of values) this.inc(labels, value)
      }
    })))
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
    request: countRequests(registrations),
    gauge: (description, read) => add('Gauge', description, read),
    counter: (description, read) => add('Counter', description, read),
    histogram ({ name, help, bounds }) {
      const buckets = createBuckets(bounds)
      const series = () => [{ labels: {}, buckets }]
      registrations.add(histogramOf({ name: prefix + name, help, bounds, labelNames: [], series }))
      return value => observe(buckets, bounds, value)
    },
    text: async () => await (await registrations.registry()).metrics(),
    contentType: 'text/plain; version=0.0.4; charset=utf-8'
  }
}
