const firstMs = 500
const maxMs = 10_000
/** A worker that has run for so long has not failed at its start. */
const stableMs = 10_000

/**
 * Creates the delays before workers that crashed are replaced: the first at once, each further one after
 * twice the time, until one has run for 10 s before it crashed.
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
