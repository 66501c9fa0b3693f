import { defaultCreated, deploymentDefaults } from '../../schemas/config/models.ts'
import type { Capabilities, ModelConfig } from './types.ts'
import { catalogueModel } from './catalogue.ts'
import { knownVideo } from './known-videos.ts'

/**
 * The model `<provider>/<upstream>` as the catalogue knows it. Of one that it does not know nothing is known:
 * a chat model without a price, and nothing it cannot do.
 */
export function newModel (provider: string, upstream: string): ModelConfig {
  const known = catalogueModel(provider, upstream)
  const video = knownVideo(provider, upstream)
  return {
    id: `${provider}/${upstream}`,
    kind: known?.kind ?? 'chat',
    deployments: [{ provider, model: upstream, ...deploymentDefaults }],
    price: known?.price ?? null,
    contextWindow: known?.contextWindow ?? null,
    maxOutput: known?.maxOutput ?? null,
    capabilities: known?.capabilities ?? assumedCapabilities,
    ...(known?.images === undefined ? {} : { images: known.images }),
    quality: {},
    ...(video === undefined ? {} : { video }),
    ownedBy: provider,
    created: known?.created ?? defaultCreated
  }
}

/** Assumed, because a request is not refused on a guess: the upstream says what it cannot do. */
export const assumedCapabilities: Capabilities = Object.freeze({
  tools: true,
  vision: true,
  audio: true,
  files: true,
  jsonSchema: true,
  reasoning: true,
  streaming: true
})
