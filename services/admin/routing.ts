import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { RoutingDecision } from '../../schemas/openai/routing.ts'
import { loadConfig } from '../config/load.ts'
import { readSettings } from '../config/settings/settings.ts'
import { createDeployments } from '../deployments/deployments.ts'
import { createStatisticsExchange } from '../deployments/share-statistics.ts'
import { createModelRegistry } from '../models/models.ts'
import { toDecisionResponse } from '../routing/decision-response.ts'
import { readOffsets } from '../routing/feedback/rows.ts'
import { createRouter } from '../routing/router.ts'
import type { Store } from '../store/store.ts'

/**
 * Returns what a gateway with the configuration of `env` and this database would decide for a request to a
 * policy. Models known only from a provider's model list are missing. Throws GatewayError 400 if no model
 * qualifies, 404 for an unknown policy; ConfigError.
 */
export async function explainRoute (
  request: ChatCompletionRequest, candidates: string[] | null, env: NodeJS.ProcessEnv, store: Store
): Promise<RoutingDecision> {
  const config = await loadConfig({ path: readSettings(env).configPath, env })
  const registry = createModelRegistry(config)
  const deployments = createDeployments({ config: () => config })
  await createStatisticsExchange({ store, deployments, node: '' }).exchange()
  const offsets = await readOffsets(store)
  const router = createRouter({
    catalogue: {
      version: () => 1,
      models: () => registry.list(),
      policies: () => config.policies,
      resolve: id => registry.resolve(id)?.model.id,
      offsets: () => offsets,
      isSandbox: id => config.providers.some(provider => provider.id === id && provider.protocol === 'sandbox'),
      unmetParameters: () => null
    },
    deployments
  })
  return toDecisionResponse(router.decide({
    request,
    key: '',
    mayUse: () => true,
    conversation: null,
    candidates,
    availableNano: null
  }))
}
