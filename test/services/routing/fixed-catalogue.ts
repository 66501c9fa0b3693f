import type { ModelConfig, PolicyConfig } from '../../../services/config/catalogue/types.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import type { RoutingCatalogue } from '../../../services/routing/router.ts'

interface FixedCatalogueOptions {
  policies?: readonly PolicyConfig[] | undefined
  unmetParameters?: RoutingCatalogue['unmetParameters'] | undefined
  /** By provider. */
  regions?: Readonly<Record<string, string>> | undefined
}

/** A catalogue of models that never changes and has no aliases. */
export function fixedCatalogue (
  models: readonly ModelConfig[],
  { policies = builtInPolicies(), unmetParameters, regions }: FixedCatalogueOptions = {}
): RoutingCatalogue {
  return {
    version: () => 1,
    models: () => models,
    policies: () => policies,
    resolve: id => id,
    isSandbox: provider => provider === 'sandbox',
    regionOf: provider => regions?.[provider] ?? null,
    servesChat: () => true,
    unmetParameters: unmetParameters ?? (() => null)
  }
}
