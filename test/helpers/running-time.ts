const tickMs = 10
let ranMs = 0
let lastMs = performance.now()

/**
 * A clock in milliseconds that almost stops while a busy machine does not schedule this process: such a pause
 * counts as two ticks of 10 ms. Use it to limit waits, and `processorMs` to limit computation.
 */
export function runningMs (): number {
  const nowMs = performance.now()
  ranMs += Math.min(nowMs - lastMs, 2 * tickMs)
  lastMs = nowMs
  return ranMs
}

setInterval(runningMs, tickMs).unref()
