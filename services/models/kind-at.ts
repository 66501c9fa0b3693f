import { guessKind, isServed, kindsAt, type ModelKind } from '../config/catalogue/kinds.ts'
import { catalogueModel } from '../config/catalogue/models.ts'
import type { ModelConfig, ProviderConfig } from '../config/catalogue/types.ts'
import type { StatedModel } from '../providers/provider.ts'

/** Returns what a provider's lists have stated about a model. */
export type Stated = (provider: string, upstream: string) => StatedModel | undefined

/**
 * Returns the kind of a model: as in the catalogue, else as its provider states, else by its name. `other`:
 * the catalogue has it, and no endpoint serves it.
 */
export function kindAt (provider: ProviderConfig, upstream: string, stated: Stated): ModelKind | 'other' {
  const known = catalogueModel(provider.id, upstream)
  if (known?.kind != null) return known.kind
  const kind = stated(provider.id, upstream)?.kind ?? guessKind(provider, upstream)
  return known !== undefined && isServed(kind) ? 'other' : kind
}

/** The same; null for a kind that the gateway does not serve, or not at this provider. */
export function servedKindAt (
  provider: ProviderConfig, upstream: string, stated: Stated
): ModelConfig['kind'] | null {
  const kind = kindAt(provider, upstream, stated)
  return kindsAt(provider).find(one => one === kind) ?? null
}
