import { setTimeout as sleep } from 'node:timers/promises'
import type { ProviderConfig } from '../../services/config/catalogue/types.ts'

/**
 * Timeouts of a provider that a busy machine does not reach. A test of one timeout shortens that one, to a
 * second or more if the call has to get as far as the provider first.
 */
export const generous: ProviderConfig['timeouts'] = {
  connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 90_000
}

interface Pair {
  /** The number of calls that the provider has received. */
  calls (): number
  /** Whether a request, or an abandoned call of one, is still running. */
  isBusy (): boolean
}

/**
 * Sends a request with an ever longer deadline until it passes during the call of the provider, which
 * a busy machine may reach too late for a short one. Returns the last response.
 */
export async function pastDeadline<Response> (
  { calls, isBusy }: Pair, send: (deadlineMs: number) => Promise<Response>
): Promise<Response> {
  for (let deadlineMs = 100; ; deadlineMs *= 2) {
    const before = calls()
    const response = await send(deadlineMs)
    // A call that had begun by the deadline may arrive after it.
    while (calls() === before && isBusy()) await sleep(10)
    await sleep(10)
    if (calls() > before) return response
  }
}
