import type { ModelConfig, PolicyConfig } from '../../../services/config/catalogue/types.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { noOffsets } from '../../../services/routing/feedback/rows.ts'
import type { RoutingCatalogue } from '../../../services/routing/router.ts'
import type { FeedbackOffsets } from '../../../services/routing/feedback/types.ts'

interface FixedCatalogueOptions {
  policies?: readonly PolicyConfig[] | undefined
  offsets?: FeedbackOffsets | undefined
  unmetParameters?: RoutingCatalogue['unmetParameters'] | undefined
}

/** A catalogue of models that never changes and has no aliases. */
export function fixedCatalogue (
  models: readonly ModelConfig[],
  { policies = builtInPolicies(), offsets = noOffsets, unmetParameters }: FixedCatalogueOptions = {}
): RoutingCatalogue {
  return {
    version: () => 1,
    models: () => models,
    policies: () => policies,
    resolve: id => id,
    offsets: () => offsets,
    isSandbox: provider => provider === 'sandbox',
    servesChat: () => true,
    unmetParameters: unmetParameters ?? (() => null)
  }
}
