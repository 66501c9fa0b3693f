import { createFalVideos } from '../fal/videos.ts'
import { createKlingVideos } from '../kling.ts'
import { createLumaVideos } from '../luma.ts'
import { createMiniMaxVideos } from '../minimax.ts'
import { createOpenAIVideos, createTogetherVideos } from '../openai/videos.ts'
import { createOpenRouterVideos } from '../openai/openrouter-videos.ts'
import { createReplicateVideos } from '../replicate/videos.ts'
import { createRunwayVideos } from '../runway.ts'
import { createSeedanceVideos } from '../seedance.ts'
import { createVeoVideos } from '../gemini/veo.ts'
import type { VideoUpstream } from './api.ts'
import type { VideoProvider } from '../provider-video.ts'
import { createWanVideos } from '../wan.ts'
import { createXaiVideos } from '../xai.ts'

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
} satisfies Record<string, (upstream: VideoUpstream) => VideoProvider>

export type VideoForm = keyof typeof videoMakers
