import type { VideoProvider } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { byModel } from '../video-jobs/by-model.ts'
import { createOmniVideos } from './omni.ts'
import { createVeoVideos } from './veo.ts'

/** Gemini: Omni by the Interactions API; Veo, which Google has shut down, for proxies that still offer it. */
export function createGeminiVideos (upstream: Upstream): VideoProvider {
  return byModel(createVeoVideos(upstream), createOmniVideos(upstream), {
    mark: 'omni:', serves: model => model.startsWith('gemini-omni')
  })
}
