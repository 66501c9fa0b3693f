import type { Catalogue } from '../chat/candidates.ts'
import type { ModelConfig } from '../config/config.ts'
import { GatewayError, UpstreamError, type UpstreamErrorKind } from '../errors.ts'
import type { ImageMaker } from '../providers/image-maker.ts'

/** A place where the model runs. */
export interface Candidate { provider: string, upstreamModel: string, make: ImageMaker }

/**
 * The model of a request and where it runs, in the order in which to try. Throws GatewayError: 404 when the
 * key may use no such model, 400 when it makes something else.
 */
export function candidatesFor (
  id: string, mayUse: (model: string) => boolean, catalogue: Catalogue
): { model: ModelConfig, candidates: Candidate[] } {
  const resolved = catalogue.resolve(id)
  if (resolved === undefined || !mayUse(resolved.model.id)) throw GatewayError.modelNotFound(id)
  const { model, deployments } = resolved
  if (model.kind !== 'image') {
    const does = model.kind === 'chat' ? 'is a chat model' : 'makes videos'
    throw GatewayError.invalidRequest(`The model \`${id}\` ${does}; it cannot make images.`, { param: 'model' })
  }
  const candidates = deployments.flatMap(({ provider, model: upstreamModel }) => {
    const make = catalogue.provider(provider)?.images
    return make === undefined ? [] : [{ provider, upstreamModel, make }]
  })
  if (candidates.length === 0) throw GatewayError.modelNotFound(id)
  return { model, candidates }
}

/** Failures of the place, not of the request: another one may do better, and this one has made nothing. */
const ofThePlace = new Set<UpstreamErrorKind>(['auth', 'quota', 'rate', 'overloaded', 'not_found'])

/** Whether the next candidate may be tried: never when images may have been made already. */
export function mayTryElsewhere (error: unknown): boolean {
  return error instanceof UpstreamError && error.kind !== 'aborted' &&
    (error.sent === 'no' || ofThePlace.has(error.kind))
}
