import type { AdminProvider, breakerStates } from '../../../schemas/admin/providers.ts'
import type { GatewayConfig } from '../../config/catalogue/types.ts'
import type { Deployment, Deployments } from '../../models/deployments/deployments.ts'
import { readRecentCalls, type RecentCall } from '../observability/request-log/recent-calls.ts'
import { isoTime } from '../../shared/iso-time.ts'
import type { Store } from '../../store/store.ts'
import type { Page } from './page.ts'

type BreakerState = typeof breakerStates[number]

export interface ProviderSources {
  store: Pick<Store, 'reports' | 'clock'>
  config: Pick<GatewayConfig, 'providers' | 'models'>
  /** Empty if no requests are served, as on the command line. */
  deployments: Pick<Deployments, 'list'> | null
  /** Ids of chat models without a price. */
  unpriced?: readonly string[]
  monotonic?: () => number
}

/** Lists the configured providers with their recent calls and circuit breakers. */
export async function listProviders (
  { store, config, deployments, unpriced = [], monotonic = () => performance.now() }: ProviderSources
): Promise<Page<AdminProvider>> {
  const calls = Map.groupBy(await readRecentCalls(store), ({ provider }) => provider)
  const known = Map.groupBy(deployments?.list() ?? [], ({ name }) => name.provider)
  const nowMs = monotonic()
  const data = config.providers.map(provider => {
    const models = config.models.filter(model => model.deployments.some(one => one.provider === provider.id))
    const configured = new Set(models.map(({ id }) => id))
    const own = {
      calls: calls.get(provider.id) ?? [],
      deployments: known.get(provider.id) ?? [],
      unpriced: unpriced.filter(id => id.startsWith(`${provider.id}/`) || configured.has(id)),
      nowMs
    }
    return toProvider(provider, models.length, own)
  })
  return { object: 'list', data, has_more: false, next: null }
}

/** Returns the worst circuit breaker of each provider on this node. */
export function listLamps (
  { config, deployments, monotonic = () => performance.now() }: Omit<ProviderSources, 'store'>
): { id: string, state: AdminProvider['state'] }[] {
  const known = Map.groupBy(deployments?.list() ?? [], ({ name }) => name.provider)
  const nowMs = monotonic()
  return config.providers.map(({ id }) => {
    const states = (known.get(id) ?? []).map(({ breaker }) => breaker.state(nowMs))
    return { id, state: worstOf(states) ?? 'unused' }
  })
}

interface Own { calls: RecentCall[], deployments: Deployment[], unpriced: string[], nowMs: number }

/** Most names of models without a price that are shown. */
const maxUnpriced = 50

function toProvider (
  { id, protocol, baseUrl }: GatewayConfig['providers'][number], models: number, own: Own
): AdminProvider {
  const { calls, deployments, unpriced, nowMs } = own
  const names = new Set([...deployments.map(({ name }) => name.model), ...calls.map(({ model }) => model)])
  const states = deployments.map(({ breaker }) => breaker.state(nowMs))
  return {
    object: 'provider',
    id,
    protocol,
    base_url: baseUrl,
    models,
    unpriced: unpriced.length,
    unpriced_models: unpriced.slice(0, maxUnpriced),
    state: worstOf(states) ?? (calls.length > 0 ? 'ready' : 'unused'),
    ...countsOf(calls),
    failures: failuresOf(calls),
    last_failure: lastFailureOf(calls),
    deployments: [...names].sort().map(model => toDeployment(model, own))
  }
}

function toDeployment (model: string, { calls, deployments, nowMs }: Own): AdminProvider['deployments'][number] {
  const found = deployments.find(({ name }) => name.model === model)
  const expected = found?.statistics.expected(noPrior)
  const isMeasured = expected !== undefined && expected.calls > 0
  return {
    model,
    state: found?.breaker.state(nowMs) ?? null,
    running: found?.calls ?? 0,
    ...countsOf(calls.filter(call => call.model === model)),
    first_token_ms: isMeasured ? Math.round(expected.firstTokenMs) : null,
    tokens_per_second: isMeasured ? Math.round(expected.tokensPerSecond * 10) / 10 : null
  }
}

const noPrior = { firstTokenMs: 1000, tokensPerSecond: 50 }

function countsOf (calls: readonly RecentCall[]) {
  const waits = calls.flatMap(({ failure, ms }) => failure === null && ms !== null ? [ms] : [])
  waits.sort((one, other) => one - other)
  return {
    calls: calls.length,
    failed_calls: calls.filter(({ failure }) => failure !== null).length,
    p50_ms: percentile(waits, 0.5),
    p95_ms: percentile(waits, 0.95)
  }
}

/** The smallest value that is not exceeded by a share of all values. */
function percentile (sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}

function failuresOf (calls: readonly RecentCall[]): AdminProvider['failures'] {
  const kinds = Map.groupBy(calls.filter(({ failure }) => failure !== null), ({ failure }) => failure ?? '')
  return [...kinds].map(([kind, all]) => ({ kind, count: all.length })).sort((a, b) => b.count - a.count)
}

function lastFailureOf (calls: readonly RecentCall[]): AdminProvider['last_failure'] {
  const [last] = calls.filter(({ failure }) => failure !== null)
    .sort((one, other) => other.endedAt - one.endedAt)
  if (last === undefined) return null
  const { endedAt, request, model, failure, status, code, words } = last
  return { at: isoTime(endedAt), request, model, kind: failure ?? '', status, code, words }
}

function worstOf (states: readonly BreakerState[]): BreakerState | null {
  return (['open', 'paused', 'ready'] as const).find(state => states.includes(state)) ?? null
}
