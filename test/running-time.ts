const tickMs = 10
let ranMs = 0
let lastMs = performance.now()

/**
 * Milliseconds since some moment, of which a pause in which a busy machine does not run this process counts
 * as two ticks of 10 ms. For limits on a wait; what computes is limited by `processorMs`.
 */
export function runningMs (): number {
  const nowMs = performance.now()
  ranMs += Math.min(nowMs - lastMs, 2 * tickMs)
  lastMs = nowMs
  return ranMs
}

setInterval(runningMs, tickMs).unref()
