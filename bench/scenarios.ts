import type { LoadOrder } from './load.ts'

/** CPU time of a server under one kind of load, as a ratio to the reference. */
export interface Scenario {
  title: string
  load: Omit<LoadOrder, 'url' | 'key'>
  /**
   * Requests ahead of the measured rounds: enough for the compiler to have settled, which takes some 20,000.
   */
  warmUp: number
  /** Whole answers asked for before that, where the load alone has too few requests to warm up their way. */
  warmUpShort?: number
  /** What one unit of work is, and how many of them the load holds. */
  unit: string
  units: number
  /** The highest ratio that is good enough. */
  targetRatio: number
}

/** By the names the command line takes. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  json: {
    title: 'JSON, 1 KB request and answer, not billed',
    load: { request: 'free', count: 2000, concurrency: 16 },
    warmUp: 30_000,
    unit: 'request',
    units: 2000,
    targetRatio: 1.7
  },
  long: {
    title: 'JSON, 50 KB request',
    load: { request: 'long', count: 1000, concurrency: 16 },
    warmUp: 6000,
    unit: 'request',
    units: 1000,
    targetRatio: 3
  },
  stream: {
    title: '50 streams at once, 100 chunks at 10 ms',
    load: { request: 'stream', count: 100, concurrency: 50, staggerMs: 3 },
    warmUp: 1000,
    warmUpShort: 20_000,
    unit: 'chunk',
    units: 100 * 100,
    targetRatio: 1.35
  }
}

/** Modest and fixed, so that nothing queues: what a request gains in time is the gateway's own. */
export const latencyLoad: Omit<LoadOrder, 'url' | 'key'> = {
  request: 'short', count: 200, concurrency: 32, perSecond: 200
}
