import { add, createSums, expected, remaining, scale } from './sums.ts'
import type { Expected, Seed, Sums } from './sums.ts'

/** What one node has measured, as it is told to the others. */
export interface Measured {
  /** When the sums were as they say; ms since 1970. */
  at: number
  /** All calls that the node has ever measured, so that others see how many were added. */
  count: number
  sums: Sums
}

/** The measurements of one deployment: this node's own, and what the others told of theirs. */
export interface MeasuredDeployment {
  /** A whole answer came: so many tokens, after so many ms. */
  answered (tokens: number, totalMs: number): void
  /** A stream's first event came. */
  started (firstMs: number): void
  /** A stream has ended well: so many tokens since its first event. */
  streamed (tokens: number, afterFirstMs: number): void
  failed (): void
  expected (seed: Seed): Expected
  /** This node's own measurements when they have changed since they were last taken, else null. */
  take (): Measured | null
  /** Takes in what the other nodes say, by their ids; replaces what they said before. */
  hear (others: ReadonlyMap<string, Measured>): void
}

/** Shorter answers say too little of the speed. */
const leastTokens = 2

/** Creates the measurements of a deployment that was never called. `clock` in ms since 1970. */
export function createRecord (clock: () => number): MeasuredDeployment {
  const own: Measured = { at: clock(), count: 0, sums: createSums() }
  /** The others' sums added up, as of `at`. */
  const others: Omit<Measured, 'count'> = { at: own.at, sums: createSums() }
  const heard = new Map<string, number>()
  let isChanged = false

  function age (calls: number): Sums {
    const now = clock()
    scale(own.sums, remaining(calls, now - own.at))
    own.at = now
    return own.sums
  }

  /** One more call: the older ones count less. */
  function call (): Sums {
    isChanged = true
    own.count++
    const sums = age(1)
    sums.calls++
    return sums
  }

  function wrote (sums: Sums, tokens: number, ms: number): void {
    if (tokens < leastTokens || ms <= 0) return
    sums.tokens += tokens
    sums.tokenMs += ms
  }

  return {
    answered (tokens, totalMs) {
      const sums = call()
      // The wait for the first token is not seen here; where streams have shown it, it is no time of writing.
      const firstMs = sums.firsts > 0 ? sums.firstMs / sums.firsts : 0
      wrote(sums, tokens, firstMs < totalMs ? totalMs - firstMs : totalMs)
    },

    started (firstMs) {
      const sums = call()
      sums.firsts++
      sums.firstMs += firstMs
    },

    streamed (tokens, afterFirstMs) {
      isChanged = true
      wrote(age(0), tokens, afterFirstMs)
    },

    failed () {
      call().failures++
    },

    expected (seed) {
      const now = clock()
      const all = createSums()
      add(all, own.sums, remaining(0, now - own.at))
      add(all, others.sums, remaining(0, now - others.at))
      return expected(all, seed)
    },

    take () {
      if (!isChanged) return null
      isChanged = false
      return { ...own, sums: { ...own.sums } }
    },

    hear (told) {
      const now = clock()
      const sums = createSums()
      let calls = 0
      for (const [node, measured] of told) {
        add(sums, measured.sums, remaining(0, now - measured.at))
        // Of a node that was not heard of before only those calls are news that its sums still consist of.
        calls += Math.max(0, measured.count - (heard.get(node) ?? measured.count - measured.sums.calls))
        heard.set(node, measured.count)
      }
      for (const node of heard.keys()) if (!told.has(node)) heard.delete(node)
      others.at = now
      others.sums = sums
      if (calls === 0 || own.count === 0) return
      // Their calls make this node's older ones count less, just as its own do.
      age(calls)
      isChanged = true
    }
  }
}
