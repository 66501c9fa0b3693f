import type { PolicyConfig } from '../catalogue/types.ts'

/** By how much a model must be better in quality to cost ten times as much, and to take ten times as long. */
export interface Tradeoff { cost: number, latency: number }

/** Without latency, so that cost and quality rise from `auto:cost` to `auto:quality`; proof in rank.ts. */
const autoTradeoff: Tradeoff = { cost: 0.05, latency: 0 }
const tradeoffs: Readonly<Record<string, Tradeoff>> = {
  'auto:cost': { cost: 0.2, latency: 0 },
  'auto:quality': { cost: 0.005, latency: 0 },
  'auto:speed': { cost: 0.005, latency: 0.4 }
}

/**
 * The trade-off of a policy: the weights of the configuration, else the built-in ones, else those of `auto`.
 */
export function tradeoffOf ({ id, costWeight, latencyWeight }: PolicyConfig): Tradeoff {
  const { cost, latency } = tradeoffs[id] ?? autoTradeoff
  return { cost: costWeight ?? cost, latency: latencyWeight ?? latency }
}
