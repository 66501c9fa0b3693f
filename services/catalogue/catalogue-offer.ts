import type { ProviderConfig } from './types.ts'
import { knownProviders } from './known-providers.ts'
import { catalogueModel, catalogueNames } from './catalogue.ts'

/**
 * Names of the models that are on offer as long as a provider has not told its own: those of the catalogue,
 * where the provider's list is wanted or does not exist.
 */
export function catalogueOffer ({ id, discover }: Pick<ProviderConfig, 'id' | 'discover'>): string[] {
  const known = knownProviders.find((provider) => provider.id === id)
  // Where every customer has an own server, each deploys a choice of the models.
  if (known === undefined || known.baseUrl === null) return []
  return discover || !known.discover ? catalogueNames(id) : []
}

/** Whether the gateway can serve a model; false only for one that is known to be of another kind. */
export function isServed (provider: string, upstream: string): boolean {
  return catalogueModel(provider, upstream)?.kind !== null
}
