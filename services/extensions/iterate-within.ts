import { UpstreamError } from '../shared/errors.ts'
import { runAttributed, type OnEscaped } from './attribution.ts'

interface IterationLimits {
  /** Ends the iteration. */
  signal: AbortSignal
  /** Time for the first item, and for each further one. */
  firstMs: number
  nextMs: number
  onEscaped: OnEscaped
}

/**
 * The items of an iterator of a plugin, each within its time. Throws UpstreamError `timeout` or `aborted`,
 * and what the iterator throws; then ends it without waiting for it.
 */
export async function * iterateWithin (
  begin: () => AsyncIterable<unknown>, { signal, firstMs, nextMs, onEscaped }: IterationLimits
): AsyncGenerator<unknown, void, undefined> {
  const iterator = runAttributed(onEscaped, () => begin()[Symbol.asyncIterator]())
  let isDone = false
  try {
    for (let limitMs = firstMs; ; limitMs = nextMs) {
      const next = runAttributed(onEscaped, async () => await iterator.next())
      const { done, value } = await within(next, limitMs, signal)
      isDone = done === true
      if (isDone) return
      yield value
    }
  } finally {
    if (!isDone) runAttributed(onEscaped, async () => { await iterator.return?.() }).catch(onEscaped)
  }
}

async function within<Result> (work: Promise<Result>, limitMs: number, signal: AbortSignal): Promise<Result> {
  const ended = Promise.withResolvers<never>()
  function abort (): void {
    ended.reject(new UpstreamError('aborted', 'yes', 'The call was aborted.', { cause: signal.reason }))
  }
  const timer = setTimeout(() => {
    ended.reject(new UpstreamError('timeout', 'yes', `The provider sent nothing for ${limitMs} ms.`, { ranOut: true }))
  }, limitMs)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, ended.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
