import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamError } from '../shared/errors.ts'

/** How often to ask, growing from the first wait to the longest, and when to give up; in ms. */
export interface PollPace { firstMs: number, longestMs: number, deadlineMs: number }

/**
 * Asks until there is an answer that is not null. A question that fails on the way is asked again, since the
 * work goes on without it, but not one that was refused. Throws UpstreamError, also of kinds `timeout` and
 * `aborted`.
 */
export async function poll<Answer> (
  ask: () => Promise<Answer | null>, { firstMs, longestMs, deadlineMs }: PollPace, signal: AbortSignal
): Promise<Answer> {
  const startedMs = performance.now()
  let failures = 0
  for (let waitMs = firstMs; ; waitMs = Math.min(longestMs, waitMs * 1.5)) {
    await wait(waitMs, signal)
    try {
      const answer = await ask()
      if (answer !== null) return answer
      failures = 0
    } catch (error) {
      failures += 1
      if (!isPassing(error) || failures > mostFailures) throw asSent(error)
    }
    if (performance.now() - startedMs > deadlineMs) {
      throw new UpstreamError('timeout', 'yes', `The provider did not finish within ${deadlineMs} ms.`)
    }
  }
}

/** Failures in a row, after which nothing is left to hope for. */
const mostFailures = 5

/** What was submitted stays so, even when the question about it did not get out. */
function asSent (error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error
  return new UpstreamError(error.kind, 'yes', error.message, error.details)
}

const passing = new Set(['network', 'overloaded', 'rate', 'timeout'])

function isPassing (error: unknown): boolean {
  return error instanceof UpstreamError && passing.has(error.kind)
}

async function wait (ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch (cause) {
    throw new UpstreamError('aborted', 'yes', 'The request was aborted.', { cause })
  }
}
