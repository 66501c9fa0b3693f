import { setTimeout } from 'node:timers/promises'
import { UpstreamError } from '../../shared/errors.ts'

/** Waits for `delayMs`. Throws UpstreamError `aborted` as soon as the signal aborts. */
export async function delay (delayMs: number, signal: AbortSignal): Promise<void> {
  throwIfAborted(signal)
  if (delayMs <= 0) return
  try {
    await setTimeout(delayMs, undefined, { signal })
  } catch (cause) {
    throw aborted(cause)
  }
}

/** Throws UpstreamError `aborted` if the signal has aborted. */
export function throwIfAborted (signal: AbortSignal): void {
  if (signal.aborted) throw aborted(signal.reason)
}

const aborted = (cause: unknown): UpstreamError =>
  new UpstreamError('aborted', 'yes', 'The call was aborted before the sandbox responded.', { cause })
