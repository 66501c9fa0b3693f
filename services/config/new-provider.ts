import { configDefaults } from '../../schemas/config/config.ts'
import type { ProviderConfig } from '../catalogue/types.ts'

/** Returns a provider of the OpenAI protocol with the given fields, and defaults for the rest. */
export function newProvider (fields: Pick<ProviderConfig, 'id' | 'baseUrl'> & Partial<ProviderConfig>): ProviderConfig {
  return {
    protocol: 'openai',
    dialect: 'compatible',
    apiKey: null,
    headers: {},
    timeouts: { ...configDefaults.timeoutsMs },
    maxConnections: configDefaults.maxConnections,
    claims: [],
    discover: false,
    ...fields
  }
}
