import type { PolicyConfig } from '../catalogue/types.ts'

/** How much better in quality the dearest or slowest candidate must be than one that is free or immediate. */
export interface Tradeoff { cost: number, latency: number }

const autoTradeoff: Tradeoff = { cost: 0.1, latency: 0.02 }
const tradeoffs: Readonly<Record<string, Tradeoff>> = {
  'auto:cost': { cost: 0.5, latency: 0.02 },
  'auto:quality': { cost: 0, latency: 0 },
  'auto:speed': { cost: 0.02, latency: 1 }
}

/**
 * The trade-off of a policy: the weights of the configuration, else the built-in ones, else those of `auto`.
 */
export function tradeoffOf ({ id, costWeight, latencyWeight }: PolicyConfig): Tradeoff {
  const { cost, latency } = tradeoffs[id] ?? autoTradeoff
  return { cost: costWeight ?? cost, latency: latencyWeight ?? latency }
}
