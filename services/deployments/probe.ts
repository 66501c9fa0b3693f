import type { Provider } from '../providers/provider.ts'
import { UpstreamError } from '../shared/errors.ts'
import type { Deployments } from './deployments.ts'

interface ProberOptions {
  deployments: Deployments
  provider: (id: string) => Provider | undefined
  /** Milliseconds of a clock that is never set. */
  monotonic?: () => number
}

/** Asks providers whether they are there, without anything that costs. */
export interface Prober {
  /** Asks each provider that was called lately for its models, once; resolves when all have answered. */
  probe (signal: AbortSignal): Promise<void>
}

/** How often in a row a provider must not answer before it is left alone. */
const tripAfter = 2
/** What says that nobody is there; an answer that refuses says that somebody is. */
const absences = new Set(['network', 'timeout', 'overloaded', 'bad_reply'])

/**
 * Creates a prober. A provider that does not answer opens the breakers of its deployments before more
 * requests fail; one that answers again lets the next request try at once.
 */
export function createProber (
  { deployments, provider, monotonic = () => performance.now() }: ProberOptions
): Prober {
  const missed = new Map<string, number>()

  async function isThere (one: Provider, signal: AbortSignal): Promise<boolean> {
    try {
      await one.models?.(signal)
      return true
    } catch (error) {
      return !(error instanceof UpstreamError && absences.has(error.kind))
    }
  }

  async function probeOne (id: string, signal: AbortSignal): Promise<void> {
    const one = provider(id)
    if (one?.models === undefined) return
    const there = await isThere(one, signal)
    if (signal.aborted) return
    const misses = there ? 0 : (missed.get(id) ?? 0) + 1
    missed.set(id, misses)
    for (const { name, breaker } of deployments.list()) {
      if (name.provider !== id) continue
      if (there) breaker.probe()
      else if (misses >= tripAfter) breaker.trip(monotonic())
    }
  }

  return {
    async probe (signal) {
      const ids = new Set(deployments.list().map(({ name }) => name.provider))
      for (const id of missed.keys()) if (!ids.has(id)) missed.delete(id)
      await Promise.all([...ids].map(id => probeOne(id, signal)))
    }
  }
}
