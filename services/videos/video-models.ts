import type { GatewayConfig } from '../catalogue/types.ts'
import type { ResolvedModel } from '../models/registry.ts'

interface Offer {
  resolve (id: string): ResolvedModel | undefined
  config (): Pick<GatewayConfig, 'policies'>
}

/**
 * The video models that an id stands for: one, or those of a policy whose operator has named video models one
 * by one and nothing else. Patterns such as `*` never mean a video, which nobody wants to pay for by
 * accident.
 */
export function resolveVideos (id: string, { resolve, config }: Offer): ResolvedModel[] {
  const named = resolve(id)
  if (named !== undefined) return named.model.kind === 'video' ? [named] : []
  if (!/^auto(:|$)/.test(id)) return []
  const models = config().policies.find(policy => policy.id === id)?.models.map(resolve) ?? []
  const videos = models.filter(found => found?.model.kind === 'video').filter(found => found !== undefined)
  return videos.length === models.length ? videos : []
}
