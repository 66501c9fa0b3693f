const firstMs = 500
const maxMs = 10_000
/** A worker that has run for this long did not fail at its start. */
const stableMs = 10_000

/**
 * Creates the delays before crashed workers are replaced: the first at once, each further one after twice the
 * time, until a worker has run for 10 s before its crash.
 */
export function createBackoff () {
  let failures = 0
  return {
    /** `ranMs`: how long the worker has run. */
    delayMs (ranMs: number): number {
      if (ranMs >= stableMs) failures = 0
      failures++
      return failures === 1 ? 0 : Math.min(maxMs, firstMs * 2 ** (failures - 2))
    }
  }
}
