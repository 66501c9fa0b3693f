import type { PolicyConfig } from '../catalogue/types.ts'

/**
 * What quality is given up for: each weight is how much quality the dearest or slowest candidate must
 * bring.
 */
export interface Tradeoff { cost: number, latency: number }

const defaults: Readonly<Record<string, Tradeoff>> = {
  auto: { cost: 0.1, latency: 0.02 },
  'auto:cost': { cost: 0.5, latency: 0.02 },
  'auto:quality': { cost: 0, latency: 0 },
  'auto:speed': { cost: 0.02, latency: 1 }
}

/** The trade-off of a policy: the operator's numbers, else its own, else those of `auto`. */
export function tradeoffOf ({ id, costWeight, latencyWeight }: PolicyConfig): Tradeoff {
  const own = defaults[id] ?? { cost: 0.1, latency: 0.02 }
  return { cost: costWeight ?? own.cost, latency: latencyWeight ?? own.latency }
}
