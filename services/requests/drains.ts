import type { ActiveMember, ActiveSet } from '../shared/active-set.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'

interface DrainsOptions {
  /** What a closing gateway aborts when it has waited long enough. */
  running: ActiveSet<CallAbort>
  /** The most calls that go on at a time. */
  maxCalls?: number
  /** How long each may go on, if the operator's deadline for its request is not later. */
  minMs?: number
}

/** Aborts the calls of one request. */
class CallAbort extends AbortController implements ActiveMember {
  slot = -1
}

export type Drains = ReturnType<typeof createDrains>

/**
 * Lets calls for a whole answer go on when their client has left or its deadline has passed: providers finish
 * and charge for such a call even if its connection is closed, and only the answer says how much.
 */
export function createDrains ({ running, maxCalls = 50, minMs = 60_000 }: DrainsOptions) {
  let count = 0

  /** Returns what ends the drain. */
  function begin (calls: CallAbort, dueMs: number): () => void {
    count++
    running.add(calls)
    const timer = setTimeout(() => calls.abort(), Math.max(minMs, dueMs - performance.now()))
    return () => {
      count--
      running.delete(calls)
      clearTimeout(timer)
    }
  }

  return {
    /** Calls that go on without their client. */
    get count () { return count },

    /**
     * Runs `work`, which passes its signal to providers. When `signal` aborts, throws at once; the work goes
     * on until `dueMs` on the clock of `performance.now()`, unless too many do or the gateway closes.
     */
    async run (
      signal: AbortSignal, dueMs: number, work: (signal: AbortSignal) => Promise<void>
    ): Promise<void> {
      const calls = new CallAbort()
      const { promise: left, reject } = Promise.withResolvers<never>()
      let end = (): void => {}
      function onAbort (): void {
        if (!isAbandoned(signal) || count >= maxCalls) return calls.abort(signal.reason)
        end = begin(calls, dueMs)
        reject(signal.reason instanceof GatewayError ? signal.reason : clientGone())
      }
      signal.addEventListener('abort', onAbort)
      const worked = work(calls.signal).finally(() => {
        signal.removeEventListener('abort', onAbort)
        end()
      })
      await Promise.race([worked, left])
    }
  }
}

/** Whether the client has left or its deadline has passed, rather than the gateway being closed. */
export function isAbandoned ({ aborted, reason }: AbortSignal): boolean {
  return aborted && (!(reason instanceof GatewayError) || reason.code === 'deadline_exceeded')
}

function clientGone (): UpstreamError {
  return new UpstreamError('aborted', 'maybe', 'The client has left.')
}
