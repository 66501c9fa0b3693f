import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { defaultCreated, deploymentDefaults } from '../../../schemas/config/models.ts'
import type { ModelConfig, PolicyConfig } from '../../../services/config/catalogue/types.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { createRouter, type Router } from '../../../services/routing/router.ts'
import { loadWeights } from '../../../services/routing/scoring/weights.ts'
import { createStickyModels } from '../../../services/routing/sticky.ts'
import { fixedCatalogue } from './fixed-catalogue.ts'
import type { DeploymentStates, RoutingRequest } from '../../../services/routing/types.ts'
import { assumedCapabilities } from '../../../services/config/catalogue/models.ts'

export const weights = loadWeights()

/** Prices in USD per million tokens. */
export interface ModelFacts extends Partial<Omit<ModelConfig, 'price'>> {
  id: string, input?: number, output?: number
}

/** A model with all capabilities, with some fields replaced. */
export function modelOf ({ id, input = 1, output = 2, ...more }: ModelFacts): ModelConfig {
  return {
    id,
    kind: 'chat',
    deployments: [{ provider: 'up', model: id, ...deploymentDefaults }],
    price: {
      inputPico: Math.round(input * 1e6),
      outputPico: Math.round(output * 1e6),
      cacheReadPico: null,
      cacheWritePico: null,
      imageNano: null,
      secondNano: null
    },
    contextWindow: 128_000,
    maxOutput: null,
    capabilities: assumedCapabilities,
    quality: {},
    ownedBy: 'up',
    created: defaultCreated,
    ...more
  }
}

interface TestRouterOptions {
  models: readonly ModelConfig[]
  policies?: readonly PolicyConfig[]
  /** By model: milliseconds to the first token, tokens per second, and whether it works. */
  states?: Readonly<Record<string, { firstTokenMs?: number, tokensPerSecond?: number, works?: boolean }>>
  clock?: () => number
}

export function routerOf ({ models, policies, states = {}, clock }: TestRouterOptions): Router {
  const deployments: DeploymentStates = {
    isAvailable: ({ model }) => states[model]?.works ?? true,
    expected: (_, model) => ({
      firstTokenMs: states[model]?.firstTokenMs ?? 500, tokensPerSecond: states[model]?.tokensPerSecond ?? 80
    })
  }
  return createRouter({
    catalogue: fixedCatalogue(models, { policies }),
    deployments,
    weights,
    ...(clock === undefined ? {} : { stickyModels: createStickyModels({ clock }) })
  })
}

/** A routing request of the key `key`; a string is a conversation of one message. */
export function routingRequest (
  body: string | Partial<ChatCompletionRequest>, more: Partial<RoutingRequest> & { model?: string } = {}
): RoutingRequest {
  const { model = 'auto', ...rest } = more
  const request: ChatCompletionRequest = {
    model,
    messages: [{ role: 'user', content: typeof body === 'string' ? body : 'What is a gateway?' }],
    ...(typeof body === 'string' ? {} : body)
  }
  return { request, key: 'key', mayUse: () => true, conversation: null, candidates: null, availableNano: null, ...rest }
}

/** The built-in policies, with one of them changed. */
export function policiesWith (id: string, change: Partial<PolicyConfig>): PolicyConfig[] {
  return builtInPolicies().map(policy => policy.id === id ? { ...policy, ...change } : policy)
}
