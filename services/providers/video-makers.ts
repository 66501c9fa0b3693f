import { createFalVideos } from './fal-videos.ts'
import { createKlingVideos } from './kling-videos.ts'
import { createLumaVideos } from './luma-videos.ts'
import { createMiniMaxVideos } from './minimax-videos.ts'
import { createOpenAIVideos, createTogetherVideos } from './openai-videos.ts'
import { createOpenRouterVideos } from './openrouter-videos.ts'
import { createReplicateVideos } from './replicate-videos.ts'
import { createRunwayVideos } from './runway-videos.ts'
import { createSeedanceVideos } from './seedance-videos.ts'
import { createVeoVideos } from './veo-videos.ts'
import type { VideoUpstream } from './video-api.ts'
import type { VideoMaker } from './video-maker.ts'
import { createWanVideos } from './wan-videos.ts'
import { createXaiVideos } from './xai-videos.ts'

/** Every form of making videos, by its name in dialects.ts and protocols.ts. */
export const videoMakers = {
  fal: createFalVideos,
  kling: createKlingVideos,
  luma: createLumaVideos,
  minimax: createMiniMaxVideos,
  openai: createOpenAIVideos,
  openrouter: createOpenRouterVideos,
  replicate: createReplicateVideos,
  runway: createRunwayVideos,
  seedance: createSeedanceVideos,
  together: createTogetherVideos,
  veo: createVeoVideos,
  wan: createWanVideos,
  xai: createXaiVideos
} satisfies Record<string, (upstream: VideoUpstream) => VideoMaker>

export type VideoForm = keyof typeof videoMakers
