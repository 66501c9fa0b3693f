/** Starts a call that ends when the signal aborts. */
export type Start<Result> = (signal: AbortSignal) => Promise<Result>

/**
 * Starts a second call if the first has no response after `afterMs`, resolves with the first response and
 * aborts the other call. Rejects with the last failure if all calls have failed. `spare` returns the second
 * call, or null.
 */
export function hedge<Result> (
  afterMs: number, signal: AbortSignal, first: Start<Result>, spare: () => Start<Result> | null
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  const running = new Set<AbortController>()

  function start (call: Start<Result>): void {
    const controller = new AbortController()
    running.add(controller)
    call(AbortSignal.any([signal, controller.signal])).then(response => {
      clearTimeout(timer)
      running.delete(controller)
      for (const other of running) other.abort()
      running.clear()
      resolve(response)
    }, error => {
      if (!running.delete(controller) || running.size > 0) return
      clearTimeout(timer)
      reject(error)
    })
  }

  const timer = setTimeout(() => {
    const second = spare()
    if (second !== null) start(second)
  }, afterMs)
  start(first)
  return promise
}
