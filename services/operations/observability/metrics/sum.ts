import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client'

/** The metrics of one process, as `Metrics.snapshot` returns them. */
export type Snapshot = MetricObjectWithValues<MetricValue<string>>[]

/** Sums the metrics of the workers of one node. */
export interface MetricsSum {
  /** Stores the current metrics of a worker. */
  update (worker: number, snapshot: Snapshot): void
  /** Removes a worker that has ended, except its counters, so that no counter goes back. */
  retire (worker: number): Promise<void>
  /** All metrics in Prometheus' text format, combined as each metric's `across` says. */
  text (): Promise<string>
}

/** Creates the sum of the last snapshots; `own` are the metrics of this process. */
export function createMetricsSum (own?: Registry): MetricsSum {
  const last = new Map<number, Snapshot>()
  let ended: Promise<Snapshot> = Promise.resolve([])

  async function retire (worker: number): Promise<void> {
    const [before, counted] = [ended, last.get(worker)?.filter(isCount) ?? []]
    last.delete(worker)
    // Replaced synchronously, so that no concurrent call misses these counts.
    const after = before.then(async past => await sumOf([past, counted]).getMetricsAsJSON() as Snapshot)
    ended = after.catch(() => before)
    await after
  }

  return {
    update (worker, snapshot) { last.set(worker, snapshot) },
    retire,
    async text () {
      const [present, past] = [[...last.values()], ended]
      const ownSnapshot = await own?.getMetricsAsJSON() as Snapshot | undefined
      return await sumOf([...present, await past, ownSnapshot ?? []]).metrics()
    }
  }
}

// The types of prom-client lack the JSON names of type and aggregator.
function isCount (metric: { type: unknown }): boolean {
  return metric.type === 'counter' || metric.type === 'histogram'
}

function sumOf (snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots as unknown as object[])
}
