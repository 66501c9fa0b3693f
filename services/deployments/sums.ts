/**
 * What was measured of one deployment, as sums in which older calls count less and less: a call counts half
 * after 50 later ones, or after five minutes. Sums of several nodes can simply be added.
 */
export interface Sums {
  /** Calls that ended, and those of them that failed. */
  calls: number
  failures: number
  /** Calls of which the time to the first token is known, and the sum of those times. */
  firsts: number
  firstMs: number
  /** Tokens that were written, and the time that took. */
  tokens: number
  tokenMs: number
}

const halfLife = { calls: 50, ms: 300_000 }
/** What is left of older calls after one more. */
const perCall = 2 ** (-1 / halfLife.calls)

export function createSums (): Sums {
  return { calls: 0, failures: 0, firsts: 0, firstMs: 0, tokens: 0, tokenMs: 0 }
}

/** What is left of sums after so many further calls and so much time. */
export function remaining (calls: number, ms: number): number {
  return (calls === 1 ? perCall : perCall ** calls) * 2 ** (-Math.max(0, ms) / halfLife.ms)
}

export function scale (sums: Sums, factor: number): void {
  sums.calls *= factor
  sums.failures *= factor
  sums.firsts *= factor
  sums.firstMs *= factor
  sums.tokens *= factor
  sums.tokenMs *= factor
}

/** Adds a part of `more` to `sums`. */
export function add (sums: Sums, more: Sums, factor: number): void {
  sums.calls += more.calls * factor
  sums.failures += more.failures * factor
  sums.firsts += more.firsts * factor
  sums.firstMs += more.firstMs * factor
  sums.tokens += more.tokens * factor
  sums.tokenMs += more.tokenMs * factor
}

/** What to expect of a deployment's next call. */
export interface Expected {
  /** Milliseconds until the first token. */
  firstTokenMs: number
  tokensPerSecond: number
  /** Share of calls that fail, 0 to 1. */
  errorRate: number
  /** How many recent calls this rests on; near 0: it is the seed. */
  calls: number
}

/** What is assumed of a deployment that nobody has called lately. */
export type Seed = Pick<Expected, 'firstTokenMs' | 'tokensPerSecond'>

export const defaultSeed: Seed = { firstTokenMs: 1000, tokensPerSecond: 50 }

/** As many calls, of as many tokens each, as the seed counts for. */
const seedCalls = 5
const seedTokens = 200

/** Reads sums as expectations; the fewer calls they rest on, the nearer to the seed. */
export function expected (sums: Sums, seed: Seed): Expected {
  const tokens = seedCalls * seedTokens
  const tokenMs = tokens / seed.tokensPerSecond * 1000
  return {
    firstTokenMs: (sums.firstMs + seedCalls * seed.firstTokenMs) / (sums.firsts + seedCalls),
    tokensPerSecond: (sums.tokens + tokens) / (sums.tokenMs + tokenMs) * 1000,
    errorRate: sums.failures / (sums.calls + seedCalls),
    calls: sums.calls
  }
}
