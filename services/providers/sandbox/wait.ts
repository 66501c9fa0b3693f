import { setTimeout } from 'node:timers/promises'
import { UpstreamError } from '../../shared/errors.ts'

/** Waits so many ms, without a timer for 0. Throws UpstreamError `aborted` at once when the signal aborts. */
export async function wait (delayMs: number, signal: AbortSignal): Promise<void> {
  throwIfAborted(signal)
  if (delayMs <= 0) return
  try {
    await setTimeout(delayMs, undefined, { signal })
  } catch (cause) {
    throw aborted(cause)
  }
}

/** Throws UpstreamError `aborted` when the signal has aborted. */
export function throwIfAborted (signal: AbortSignal): void {
  if (signal.aborted) throw aborted(signal.reason)
}

const aborted = (cause: unknown): UpstreamError =>
  new UpstreamError('aborted', 'yes', 'The call was given up before the sandbox had answered.', { cause })
