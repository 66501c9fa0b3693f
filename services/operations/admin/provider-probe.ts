import type { ProviderProbe } from '../../../schemas/admin/providers.ts'
import { recordChange, type Actor } from '../../store/audit.ts'
import type { Deployments } from '../../models/deployments/deployments.ts'
import { GatewayError, UpstreamError } from '../../shared/errors.ts'
import type { Store } from '../../store/store.ts'

const limitMs = 10_000

/** A provider's list of models, if it has one. */
export interface ProbedProvider { models?: (signal: AbortSignal) => Promise<string[]> }

/**
 * Lists the models of a provider. On success, its open circuit breakers let the next request try it. Throws
 * GatewayError 404 for an unknown provider, 409 for one without a list of models.
 */
export async function probeProvider (
  { actor, store, provider, deployments, monotonic = () => performance.now() }: {
    actor: Actor
    store: Pick<Store, 'run' | 'clock'>
    provider: (id: string) => ProbedProvider | undefined
    deployments: Pick<Deployments, 'list'> | null
    monotonic?: () => number
  },
  id: string
): Promise<ProviderProbe> {
  const found = provider(id)
  if (found === undefined) throw unknownProvider(id)
  if (found.models === undefined) throw notProbed(id)
  const startedMs = monotonic()
  const result = await tryModels(found.models.bind(found))
  const durationMs = Math.round(monotonic() - startedMs)
  const probe = { object: 'provider_probe' as const, provider: id, duration_ms: durationMs, ...result }
  if (probe.reachable) {
    for (const { name, breaker } of deployments?.list() ?? []) if (name.provider === id) breaker.halfOpen()
  }
  const after = { reachable: probe.reachable }
  await recordChange(store, { actor, action: 'provider.probe', target: `provider:${id}`, after, at: store.clock() })
  return probe
}

async function tryModels (
  models: (signal: AbortSignal) => Promise<string[]>
): Promise<Pick<ProviderProbe, 'reachable' | 'models' | 'failure'>> {
  try {
    const list = await models(AbortSignal.timeout(limitMs))
    return { reachable: true, models: list.length, failure: null }
  } catch (error) {
    if (error instanceof UpstreamError) {
      const { kind, message, details: { missingUrl } } = error
      return unreachable(kind, missingUrl === undefined ? message : `There is no list of models at ${missingUrl}; check 'base_url'.`)
    }
    if (error instanceof DOMException) return unreachable('timeout', `No response within ${limitMs / 1000} s.`)
    throw error
  }
}

function unreachable (kind: string, message: string) {
  return { reachable: false, models: null, failure: { kind, message } }
}

function unknownProvider (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `The provider \`${id}\` does not exist.`, { code: 'provider_not_found' })
}

function notProbed (id: string): GatewayError {
  return new GatewayError(409, 'invalid_request_error',
    `The provider \`${id}\` has no list of models; the next request tries it.`, { code: 'probe_not_supported' })
}
