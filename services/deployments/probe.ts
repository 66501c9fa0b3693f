import type { Provider } from '../providers/provider.ts'
import { UpstreamError } from '../shared/errors.ts'
import type { Deployments } from './deployments.ts'

const missesToTrip = 2
/** Failures that mean the provider is unreachable; a refusal means that it is reachable. */
const unreachableKinds = new Set(['network', 'timeout', 'overloaded', 'bad_reply'])

/**
 * Creates a prober. A provider that is unreachable twice in a row opens the breakers of its deployments; one
 * that is reachable again makes them half-open at once.
 */
export function createProber ({ deployments, provider, monotonic = () => performance.now() }: {
  deployments: Deployments, provider: (id: string) => Provider | undefined, monotonic?: () => number
}) {
  const missesOf = new Map<string, number>()

  async function isReachable (one: Provider, signal: AbortSignal): Promise<boolean> {
    try {
      await one.models?.(signal)
      return true
    } catch (error) {
      return !(error instanceof UpstreamError && unreachableKinds.has(error.kind))
    }
  }

  async function probeOne (id: string, signal: AbortSignal): Promise<void> {
    const one = provider(id)
    if (one?.models === undefined) return
    const reachable = await isReachable(one, signal)
    if (signal.aborted) return
    const misses = reachable ? 0 : (missesOf.get(id) ?? 0) + 1
    missesOf.set(id, misses)
    for (const { name, breaker } of deployments.list()) {
      if (name.provider !== id) continue
      if (reachable) breaker.halfOpen()
      else if (misses >= missesToTrip) breaker.trip(monotonic())
    }
  }

  return {
    /** Lists the models of each recently called provider; resolves when all have answered or failed. */
    async probe (signal: AbortSignal): Promise<void> {
      const ids = new Set(deployments.list().map(({ name }) => name.provider))
      for (const id of missesOf.keys()) if (!ids.has(id)) missesOf.delete(id)
      await Promise.all([...ids].map(id => probeOne(id, signal)))
    }
  }
}
