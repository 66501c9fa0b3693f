import type { Provider } from '../../providers/provider.ts'
import { UpstreamError } from '../../shared/errors.ts'
import type { CircuitBreaker, Deployments } from './deployments.ts'

const missesToTrip = 2
/** Failures that mean that the provider is unreachable; a rejection means that it is reachable. */
const unreachableKinds = new Set(['network', 'timeout', 'overloaded', 'bad_reply'])

/**
 * Creates a prober. A provider that is unreachable twice in a row opens the breakers of its deployments; one
 * that is reachable again makes them half-open at once.
 * Long because its short methods share private state.
 */
export function createProber ({
  deployments, provider, monotonic = () => performance.now(), listMs = 5_000
}: {
  deployments: Deployments
  provider: (id: string) => Provider | undefined
  monotonic?: () => number
  /** Time limit for the model list of a silent provider. */
  listMs?: number
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

  /** Providers of silent deployments that did not respond to the last check. */
  const deaf = new Set<string>()

  async function checkOne (
    id: string, silent: readonly CircuitBreaker[], signal: AbortSignal
  ): Promise<void> {
    const one = provider(id)
    if (one?.models === undefined) return
    const limit = AbortSignal.timeout(listMs)
    const reachable = await isReachable(one, AbortSignal.any([signal, limit])) && !limit.aborted
    if (signal.aborted) return
    if (!reachable) {
      deaf.add(id)
      for (const breaker of silent) breaker.stillSilent(monotonic())
    } else if (deaf.delete(id)) {
      for (const breaker of silent) breaker.trySilent()
    }
  }

  return {
    /**
     * Lists the models of each provider with a silent deployment. No request waits for a provider that does
     * not respond, and the next request tries one that responds again.
     */
    async checkSilent (signal: AbortSignal): Promise<void> {
      const silent = Map.groupBy(deployments.list().filter(({ breaker }) => breaker.isSilent),
        ({ name }) => name.provider)
      for (const id of deaf) if (!silent.has(id)) deaf.delete(id)
      const checks = [...silent].map(([id, own]) => checkOne(id, own.map(({ breaker }) => breaker), signal))
      await Promise.all(checks)
    },

    /** Lists the models of each recently called provider; resolves when all have responded or failed. */
    async probe (signal: AbortSignal): Promise<void> {
      const ids = new Set(deployments.list().map(({ name }) => name.provider))
      for (const id of missesOf.keys()) if (!ids.has(id)) missesOf.delete(id)
      await Promise.all([...ids].map(id => probeOne(id, signal)))
    }
  }
}
