import type { PolicyConfig } from '../config/catalogue/types.ts'

/** By how much a model must be better in quality to cost ten times as much, and to take ten times as long. */
export interface Tradeoff { cost: number, latency: number }

/** Without latency, so that cost and quality rise from `auto:cost` to `auto:quality`; proof in rank.ts. */
const autoTradeoff: Tradeoff = { cost: 0.05, latency: 0 }
const tradeoffs: Readonly<Record<string, Tradeoff>> = {
  'auto:cost': { cost: 0.2, latency: 0 },
  'auto:quality': { cost: 0.005, latency: 0 },
  'auto:speed': { cost: 0.005, latency: 0.4 }
}

/** The dial of a request: 0 is ten times as careful with money as 5, which is `auto`, and 10 a tenth. */
const dial = { middle: 5, stepsPerTenfold: 5 }

/**
 * The trade-off of a policy: the weights of the configuration, else the built-in ones, else those of `auto`.
 * `costQuality` is the dial of a request, 0 to 10, which replaces the weight of the cost; null: it has none.
 */
export function tradeoffOf (
  { id, costWeight, latencyWeight }: PolicyConfig, costQuality: number | null = null
): Tradeoff {
  const { cost, latency } = tradeoffs[id] ?? autoTradeoff
  const dialled = costQuality === null
    ? null
    : autoTradeoff.cost * 10 ** ((dial.middle - costQuality) / dial.stepsPerTenfold)
  return { cost: dialled ?? costWeight ?? cost, latency: latencyWeight ?? latency }
}
