import type { GatewayConfig } from '../catalogue/types.ts'
import type { ResolvedModel } from '../models/registry.ts'

interface OfferedModels {
  resolve (id: string): ResolvedModel | undefined
  config (): Pick<GatewayConfig, 'policies'>
}

/** Which ids mean a video. */
export interface VideoModels {
  /** Whether an id is that of a video model or of a policy of video models. */
  includes (id: string): boolean
  /**
   * The models of an id: one, or those of a policy that names video models one by one and nothing else.
   * Patterns such as `*` never mean a video, which is too expensive to be chosen by accident.
   */
  resolve (id: string): ResolvedModel[]
}

export function createVideoModels ({ resolve, config }: OfferedModels): VideoModels {
  function resolveVideos (id: string): ResolvedModel[] {
    const named = resolve(id)
    if (named !== undefined) return named.model.kind === 'video' ? [named] : []
    if (!/^auto(:|$)/.test(id)) return []
    const models = config().policies.find(policy => policy.id === id)?.models.map(resolve) ?? []
    const videos = models.filter(found => found?.model.kind === 'video').filter(found => found !== undefined)
    return videos.length === models.length ? videos : []
  }
  return { includes: id => resolveVideos(id).length > 0, resolve: resolveVideos }
}
