import { Value } from '@sinclair/typebox/value'
import { ProviderEntry } from '../../schemas/config/providers.ts'
import type { ProviderConfig } from './catalogue/types.ts'
import { toParsed } from './read/to-parsed.ts'

/** Returns a provider with the given fields, and the defaults of the file for the rest. */
export function newProvider (fields: Pick<ProviderConfig, 'id' | 'baseUrl'> & Partial<ProviderConfig>): ProviderConfig {
  const defaults = toParsed(ProviderEntry, Value.Default(ProviderEntry, { id: fields.id }))
  return { ...defaults, protocol: 'openai', dialect: 'compatible', claims: [], script: null, ...fields }
}
