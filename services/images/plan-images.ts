import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import { quoteImages, type ImageQuote } from '../billing/image-price.ts'
import { catalogueModel } from '../config/catalogue/models.ts'
import type { ModelConfig } from '../config/catalogue/types.ts'
import type { ImageOptions } from '../providers/provider-image.ts'
import { planFor, type Candidate, type Catalogue, type Plan, type ProviderOf } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import { GatewayError } from '../shared/errors.ts'
import { checkRequest } from './check-request.ts'

/** A deployment that can make the images, what exactly it would make, and for how much. */
export interface ImageCandidate extends Candidate<ProviderOf<'image'>> { wanted: ImageOptions, quote: ImageQuote }

/**
 * Plans a request for images. Leaves out the deployments that cannot make them or have no price; throws the
 * first refusal (GatewayError 400) when none is left. Throws as `planFor`.
 */
export function planImages (
  { body: request, mayUse, regions }: Pick<Exchange<ImageGenerationRequest>, 'body' | 'mayUse' | 'regions'>, catalogue: Catalogue
): Plan<ImageCandidate> {
  const plan = planFor({ kind: 'image', model: request.model, fallbacks: [], mayUse, regions: [regions] }, catalogue)
  const requested: ImageCandidate[] = []
  let refusal: GatewayError | null = null
  for (const candidate of plan.requested) {
    try {
      const model = modelAt(candidate)
      const wanted = checkRequest(request, model)
      checkQuality(wanted, model, candidate)
      const exceedsTokens = candidate.health.exceeded.output
      const quote = quoteImages({ model, wanted, prompt: request.prompt, exceedsTokens })
      requested.push({ ...candidate, wanted, quote })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      refusal ??= error
    }
  }
  if (requested.length === 0) throw refusal ?? GatewayError.modelNotFound(request.model)
  return { model: plan.model, requested, fallbacks: () => [] }
}

/** Throws GatewayError 400 for a quality that changes the price and would not reach the provider. */
function checkQuality (
  { quality }: ImageOptions, { id, images }: Pick<ModelConfig, 'id' | 'images'>,
  { provider, deployment: { model } }: Candidate<ProviderOf<'image'>>
): void {
  if (quality === null || provider.images.statesQuality?.(model) !== false) return
  const isPriced = [...images?.prices ?? [], ...images?.tokens ?? []].some(row => row.quality !== null)
  if (isPriced) throw GatewayError.invalidValue('quality', `\`${id}\` cannot be asked for a quality`)
}

/** What the model can do and costs at one deployment, where deployments differ. */
function modelAt (
  { model: { id, images }, deployment: { provider, model }, price }: Candidate<ProviderOf<'image'>>
): Pick<ModelConfig, 'id' | 'price' | 'images'> {
  const abilities = images ?? catalogueModel(provider, model)?.images
  return { id, price, ...(abilities === undefined ? {} : { images: abilities }) }
}
