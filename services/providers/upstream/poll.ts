import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamError } from '../../shared/errors.ts'

/** The wait before the first poll, the longest one it grows to, and the deadline; in ms. */
interface PollPace { firstMs: number, longestMs: number, deadlineMs: number }

/**
 * Polls until `check` resolves with an answer that is not null. A poll that fails on the way is repeated, one
 * that is refused is not. Throws UpstreamError, also of kinds `timeout` and `aborted`.
 */
export async function poll<Answer> (
  check: () => Promise<Answer | null>, { firstMs, longestMs, deadlineMs }: PollPace, signal: AbortSignal
): Promise<Answer> {
  const startedMs = performance.now()
  let failures = 0
  for (let waitMs = firstMs; ; waitMs = Math.min(longestMs, waitMs * 1.5)) {
    await wait(waitMs, signal)
    try {
      const response = await check()
      if (response !== null) return response
      failures = 0
    } catch (error) {
      failures += 1
      if (!isTransient(error) || failures > maxFailures) throw asSent(error)
    }
    if (performance.now() - startedMs > deadlineMs) {
      throw new UpstreamError('timeout', 'yes', `The provider did not finish within ${deadlineMs} ms.`, { ranOut: true })
    }
  }
}

/** Failed polls in a row that are tolerated. */
const maxFailures = 5

/** The job was submitted, even if the poll itself was not sent. */
function asSent (error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error
  return new UpstreamError(error.kind, 'yes', error.message, error.details)
}

const transient = new Set(['network', 'overloaded', 'rate', 'timeout'])

function isTransient (error: unknown): boolean {
  return error instanceof UpstreamError && transient.has(error.kind)
}

async function wait (ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch (cause) {
    throw new UpstreamError('aborted', 'yes', 'The request was aborted.', { cause })
  }
}
