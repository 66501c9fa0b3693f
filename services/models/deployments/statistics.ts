import type { BreakerConfig } from '../../config/catalogue/types.ts'

/**
 * Sums over the calls of one deployment that decay: a call weighs half after 50 later ones, or after five
 * minutes. Sums of several nodes can be added.
 */
interface DecayingSums {
  calls: number
  failures: number
  firsts: number
  firstMs: number
  tokens: number
  tokenMs: number
}

export interface ExpectedPerformance {
  firstTokenMs: number
  tokensPerSecond: number
  errorRate: number
  /** Weight of the recent calls behind this; near 0 it equals the prior. */
  calls: number
}

/** The assumed speed of a deployment without recent calls. */
export type PerformancePrior = Pick<ExpectedPerformance, 'firstTokenMs' | 'tokensPerSecond'>

export const defaultPrior: PerformancePrior = { firstTokenMs: 1000, tokensPerSecond: 50 }

/** The measurements of one deployment by one node, as shared with other nodes. */
export interface NodeStatistics {
  /** The time to which the sums have decayed, in ms since 1970. */
  at: number
  /** Total calls measured by the node, from which readers derive the new ones. */
  count: number
  sums: DecayingSums
}

const halfLife = { calls: 50, ms: 300_000 }
const decayPerCall = 2 ** (-1 / halfLife.calls)
/** Shorter responses say too little about speed. */
const minTokens = 2
/** The prior weighs as much as this many calls of this many tokens each. */
const priorWeight = { calls: 5, tokens: 5 * 200 }

/** Thresholds of a slow response: a multiple of the usual wait, and a minimum. */
type SlowLimits = Pick<BreakerConfig, 'slowFactor' | 'slowMinMs'>

const neverSlow: SlowLimits = { slowFactor: Infinity, slowMinMs: Infinity }
/** The wait before the first token of a complete response, as a number of tokens. */
const tokensOfOverhead = 100

export type DeploymentStatistics = ReturnType<typeof createStatistics>

/**
 * Creates the statistics of a deployment without calls. `clock` returns ms since 1970. Long because its short
 * methods share private state.
 */
export function createStatistics (clock: () => number, limits: () => SlowLimits = () => neverSlow) {
  const own: NodeStatistics = { at: clock(), count: 0, sums: emptySums() }
  /** The sums of all other nodes together, as of `at`. */
  const remote = { at: own.at, sums: emptySums() }
  const remoteCounts = new Map<string, number>()
  let isChanged = false
  const firstWaits = createUsualWait(clock)
  const wholeWaits = createUsualWait(clock)

  function decay (calls: number): DecayingSums {
    const now = clock()
    scale(own.sums, decayFactor(calls, now - own.at))
    own.at = now
    return own.sums
  }

  function recordCall (): DecayingSums {
    isChanged = true
    own.count++
    const sums = decay(1)
    sums.calls++
    return sums
  }

  function addTokens (sums: DecayingSums, tokens: number, ms: number): void {
    if (tokens < minTokens || ms <= 0) return
    sums.tokens += tokens
    sums.tokenMs += ms
  }

  return {
    /** Returns whether the response took far longer than usual for this deployment. */
    recordResponse (tokens: number, totalMs: number): boolean {
      const sums = recordCall()
      // A complete response hides the wait for its first token; subtract the wait measured on streams.
      const firstMs = sums.firsts > 0 ? sums.firstMs / sums.firsts : 0
      addTokens(sums, tokens, firstMs < totalMs ? totalMs - firstMs : totalMs)
      return wholeWaits.record(totalMs, tokens + tokensOfOverhead, limits())
    },

    /** Returns whether the first token took far longer than usual for this deployment. */
    recordFirstEvent (firstMs: number): boolean {
      const sums = recordCall()
      sums.firsts++
      sums.firstMs += firstMs
      return firstWaits.record(firstMs, 1, limits())
    },

    /** For a stream that did not fail, with `tokens` tokens since its first event. */
    recordStreamEnd (tokens: number, afterFirstMs: number): void {
      isChanged = true
      addTokens(decay(0), tokens, afterFirstMs)
    },

    recordFailure (): void {
      recordCall().failures++
    },

    /**
     * The 90th percentile, in ms, of the time to the first event of a stream (`tokens` null) or to a complete
     * response of `tokens` tokens; null while there are too few responses.
     */
    usualWaitMs (tokens: number | null): number | null {
      const ms = tokens === null ? firstWaits.usualMs() : wholeWaits.usualMs() * (tokens + tokensOfOverhead)
      return ms === Infinity ? null : ms
    },

    expected (prior: PerformancePrior): ExpectedPerformance {
      const now = clock()
      const all = emptySums()
      add(all, own.sums, decayFactor(0, now - own.at))
      add(all, remote.sums, decayFactor(0, now - remote.at))
      return expectedFrom(all, prior)
    },

    /** Null if nothing has changed since the last call. */
    takeChanges (): NodeStatistics | null {
      if (!isChanged) return null
      isChanged = false
      return { ...own, sums: { ...own.sums } }
    },

    mergeRemote (others: ReadonlyMap<string, NodeStatistics>): void {
      const now = clock()
      const sums = emptySums()
      let newCalls = 0
      for (const [node, { at, count, sums: its }] of others) {
        add(sums, its, decayFactor(0, now - at))
        // For a newly seen node, only the calls still in its sums are new.
        newCalls += Math.max(0, count - (remoteCounts.get(node) ?? count - its.calls))
        remoteCounts.set(node, count)
      }
      for (const node of remoteCounts.keys()) if (!others.has(node)) remoteCounts.delete(node)
      remote.at = now
      remote.sums = sums
      if (newCalls === 0 || own.count === 0) return
      // Calls of other nodes age this node's measurements like its own calls.
      decay(newCalls)
      isChanged = true
    }
  }
}

const usual = { waits: 64, least: 16, percentile: 0.9, refreshEvery: 8, learnSlowEveryMs: 15_000 }

/** Learns the usual wait of a deployment: a high percentile of the last ones, per unit of work. */
function createUsualWait (clock: () => number) {
  let waits: Float64Array | null = null
  let count = 0
  let slowLearnedAt = -Infinity
  let known = { ms: Infinity, count: 0 }

  function learn (ms: number): void {
    waits ??= new Float64Array(usual.waits)
    waits[count++ % usual.waits] = ms
  }

  function usualMs (): number {
    if (waits === null || count < usual.least) return Infinity
    if (known.count === 0 || count - known.count >= usual.refreshEvery) {
      const sorted = waits.slice(0, count).sort()
      known = { ms: sorted[Math.floor(sorted.length * usual.percentile)] ?? Infinity, count }
    }
    return known.ms
  }

  return {
    /** Per unit; Infinity while there are too few waits. Sorted on demand. */
    usualMs,

    /** Records a wait for a number of units; returns whether it was slow. */
    record (ms: number, units: number, { slowFactor, slowMinMs }: SlowLimits): boolean {
      const isSlow = ms > slowMinMs && ms > slowFactor * usualMs() * units
      if (!isSlow) {
        learn(ms / units)
        return false
      }
      // Constant slowness becomes usual after two minutes, for any number of responses.
      const now = clock()
      if (Math.abs(now - slowLearnedAt) >= usual.learnSlowEveryMs) {
        slowLearnedAt = now
        learn(ms / units)
      }
      return true
    }
  }
}

function emptySums (): DecayingSums {
  return { calls: 0, failures: 0, firsts: 0, firstMs: 0, tokens: 0, tokenMs: 0 }
}

/** Decays a sum by further calls and time. */
function decayFactor (calls: number, ms: number): number {
  return (calls === 1 ? decayPerCall : decayPerCall ** calls) * 2 ** (-Math.max(0, ms) / halfLife.ms)
}

function scale (sums: DecayingSums, factor: number): void {
  sums.calls *= factor
  sums.failures *= factor
  sums.firsts *= factor
  sums.firstMs *= factor
  sums.tokens *= factor
  sums.tokenMs *= factor
}

function add (sums: DecayingSums, more: DecayingSums, factor: number): void {
  sums.calls += more.calls * factor
  sums.failures += more.failures * factor
  sums.firsts += more.firsts * factor
  sums.firstMs += more.firstMs * factor
  sums.tokens += more.tokens * factor
  sums.tokenMs += more.tokenMs * factor
}

function expectedFrom (sums: DecayingSums, prior: PerformancePrior): ExpectedPerformance {
  const priorTokenMs = priorWeight.tokens / prior.tokensPerSecond * 1000
  return {
    firstTokenMs: (sums.firstMs + priorWeight.calls * prior.firstTokenMs) / (sums.firsts + priorWeight.calls),
    tokensPerSecond: (sums.tokens + priorWeight.tokens) / (sums.tokenMs + priorTokenMs) * 1000,
    errorRate: sums.failures / (sums.calls + priorWeight.calls),
    calls: sums.calls
  }
}
