import { configDefaults } from '../../schemas/config.ts'
import { newProvider } from './new-provider.ts'
import type { ModelConfig, ProviderConfig } from './config.ts'

/** The provider that answers by itself, for a gateway that has no key yet. */
export const sandboxProvider: ProviderConfig = newProvider({ id: 'sandbox', protocol: 'sandbox', baseUrl: '' })

/** The sandbox's models, run by the provider of that id. Prices are small but real: billing shows. */
export function sandboxModels (provider: string): ModelConfig[] {
  return [{
    id: 'sandbox-chat',
    kind: 'chat',
    deployments: [{ provider, model: 'sandbox-chat', weight: configDefaults.weight, priority: configDefaults.priority }],
    price: {
      inputPico: 100_000,
      outputPico: 400_000,
      cacheReadPico: null,
      cacheWritePico: null,
      imageNano: null,
      secondNano: null
    },
    contextWindow: 128_000,
    maxOutput: 4096,
    capabilities: {
      tools: true,
      vision: true,
      audio: false,
      files: false,
      jsonSchema: true,
      reasoning: false,
      streaming: true
    },
    quality: {},
    ownedBy: provider,
    created: configDefaults.createdS
  }]
}
