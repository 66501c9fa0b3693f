import { configDefaults } from '../../schemas/config.ts'
import type { ModelConfig } from '../config/config.ts'

/**
 * The chat model `<provider>/<upstream>` about which nothing else is known: no price, and nothing it cannot
 * do.
 */
export function newModel (provider: string, upstream: string): ModelConfig {
  const { weight, priority, createdS } = configDefaults
  return {
    id: `${provider}/${upstream}`,
    kind: 'chat',
    deployments: [{ provider, model: upstream, weight, priority }],
    price: null,
    contextWindow: null,
    maxOutput: null,
    // Assumed, because a request is not refused on a guess: the upstream says what it cannot do.
    capabilities: {
      tools: true,
      vision: true,
      audio: true,
      files: true,
      jsonSchema: true,
      reasoning: true,
      streaming: true
    },
    quality: {},
    ownedBy: provider,
    created: createdS
  }
}
