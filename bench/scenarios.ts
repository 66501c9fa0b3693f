import type { LoadOrder } from './load.ts'

/** CPU time of a server under one kind of load, as a ratio to the reference. */
export interface Scenario {
  title: string
  load: Omit<LoadOrder, 'url' | 'key'>
  /** Requests before the measured rounds; JIT compilation takes about 20,000. */
  warmUp: number
  /** Short requests before those, if the load itself has too few to warm up. */
  warmUpShort?: number
  /** Name of the unit of work, and the number of units in the load. */
  unit: string
  units: number
  /** The highest acceptable ratio. */
  targetRatio: number
}

/** By their names on the command line. */
export const scenarios = {
  json: {
    title: 'JSON, 1 KB request and answer, free model',
    load: { request: 'free', count: 2000, concurrency: 16 },
    warmUp: 30_000,
    unit: 'request',
    units: 2000,
    targetRatio: 1.4
  },
  long: {
    title: 'JSON, 50 KB request',
    load: { request: 'long', count: 1000, concurrency: 16 },
    warmUp: 6000,
    unit: 'request',
    units: 1000,
    targetRatio: 1.7
  },
  stream: {
    title: '50 streams at once, 100 chunks at 10 ms',
    load: { request: 'stream', count: 100, concurrency: 50, staggerMs: 3 },
    warmUp: 1000,
    warmUpShort: 20_000,
    unit: 'chunk',
    units: 100 * 100,
    targetRatio: 1.05
  }
} as const satisfies Readonly<Record<string, Scenario>>

/** A low fixed rate, so that requests do not queue and the added latency is the gateway's own. */
export const latencyLoad: Omit<LoadOrder, 'url' | 'key'> = {
  request: 'short', count: 1000, concurrency: 64, perSecond: 500
}
