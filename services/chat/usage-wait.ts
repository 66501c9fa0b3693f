import { isCounted } from '../providers/report.ts'
import { isAbandoned } from '../requests/attempt.ts'
import type { Exchange } from '../requests/exchange.ts'

/** How long a complete stream whose client has left is read on for its usage, which follows at its end. */
const usageWaitMs = 2_000

/**
 * The signal of a stream's calls: it aborts with the request, but if only the usage is missing, so much later
 * that this may arrive. Nothing more is generated meanwhile, so waiting costs nothing.
 */
export function signalOfStream (
  { signal, record }: Pick<Exchange<unknown>, 'signal' | 'record'>, choices: number
): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort(signal.reason)
  const lacksUsage = (): boolean => {
    const { report } = record
    return report !== null && report.finishReasons.size >= choices && !isCounted(report)
  }
  const leave = (): void => {
    if (isAbandoned(signal) && lacksUsage()) setTimeout(abort, usageWaitMs).unref()
    else abort()
  }
  if (signal.aborted) abort()
  else signal.addEventListener('abort', leave, { once: true })
  return controller.signal
}
