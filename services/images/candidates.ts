import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { Catalogue } from '../requests/candidates.ts'
import type { DeploymentConfig, ModelConfig } from '../catalogue/types.ts'
import { GatewayError, UpstreamError, type UpstreamErrorKind } from '../shared/errors.ts'
import { catalogueModel } from '../catalogue/catalogue.ts'
import type { ImageProvider, ImageOptions } from '../providers/provider-image.ts'
import { checkRequest } from './check.ts'
import { quote, type Quote } from '../billing/image-price.ts'

/** A place where the model runs that can make what is wanted, and what it costs there. */
export interface Candidate {
  provider: string
  upstreamModel: string
  make: ImageProvider
  wanted: ImageOptions
  quote: Quote
}

/**
 * The model of a request and the places to try, in their order. Throws GatewayError: 404 when the key may
 * use no such model; 400 when it makes something else, when no place can make what is wanted, or none has a
 * price.
 */
export function planFor (
  request: ImageGenerationRequest, mayUse: (model: string) => boolean, catalogue: Catalogue
): { model: ModelConfig, candidates: Candidate[] } {
  const { model: id, prompt } = request
  const resolved = catalogue.resolve(id)
  if (resolved === undefined || !mayUse(resolved.model.id)) throw GatewayError.modelNotFound(id)
  const { model, deployments } = resolved
  if (model.kind !== 'image') {
    const does = model.kind === 'chat' ? 'is a chat model' : 'makes videos'
    throw GatewayError.invalidRequest(`The model \`${id}\` ${does}; it cannot make images.`, { param: 'model' })
  }
  const candidates: Candidate[] = []
  let refusal = GatewayError.modelNotFound(id)
  for (const deployment of deployments) {
    const make = catalogue.provider(deployment.provider)?.images
    if (make === undefined) continue
    try {
      const there = atDeployment(model, deployment)
      const wanted = checkRequest(request, there)
      const { provider, model: upstreamModel } = deployment
      const quoted = quote({ model: there, wanted, prompt })
      candidates.push({ provider, upstreamModel, make, wanted, quote: quoted })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (refusal.status === 404) refusal = error
    }
  }
  if (candidates.length === 0) throw refusal
  return { model, candidates }
}

/** What the model can do and costs at one place, where places differ. */
function atDeployment (
  { id, price, images }: ModelConfig, { provider, model, price: own }: DeploymentConfig
): Pick<ModelConfig, 'id' | 'price' | 'images'> {
  const abilities = images ?? catalogueModel(provider, model)?.images
  const there = own === undefined ? price : own
  return { id, price: there, ...(abilities === undefined ? {} : { images: abilities }) }
}

/** Failures of the place, not of the request: another one may do better, and this one has made nothing. */
const ofThePlace = new Set<UpstreamErrorKind>(['auth', 'quota', 'rate', 'overloaded', 'not_found'])

/** Whether the next candidate may be tried: never when images may have been made already. */
export function mayTryElsewhere (error: unknown): boolean {
  return error instanceof UpstreamError && error.kind !== 'aborted' &&
    (error.sent === 'no' || ofThePlace.has(error.kind))
}
