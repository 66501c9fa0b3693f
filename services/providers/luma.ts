import { createVideoClient } from './video-jobs/client.ts'
import { objectField, textOrNull } from './video-jobs/errors.ts'
import { aspectRatioFor, withoutNulls, frameHttpUrl, refuseSeed, resolutionFor } from './video-jobs/fields.ts'
import type { FrameImage, VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { byModel } from './video-jobs/by-model.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'
import { createLumaAgentsVideos } from './luma-agents.ts'

const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '21:9', '9:21']

/** Luma: Ray 3 by the Agents API, older models by Dream Machine. A base URL of neither serves both. */
export function createLumaVideos (upstream: Upstream): VideoProvider {
  const agentsUrl = upstream.baseUrl.replace('//api.lumalabs.ai/dream-machine/', '//agents.lumalabs.ai/')
  const agents = createLumaAgentsVideos(upstream.at(agentsUrl))
  return byModel(createDreamMachineVideos(upstream), agents, {
    mark: 'agents:', serves: model => model.startsWith('ray-3')
  })
}

/** Luma's Dream Machine. It accepts images as URLs only. Source: npm lumaai 1.19.1, 24 Nov 2026. */
function createDreamMachineVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream)
  return createVideoProvider(client, {
    frameFormat: 'url',
    choices: () => ({ seconds: 5, size: '1280x720', sound: 'never' }),
    submit: task => ({ path: '/generations/video', body: bodyOf(task) }),
    pollPath: handle => `/generations/${handle}`,
    states: { queued: 'queued', dreaming: 'running', completed: 'succeeded', failed: 'failed' },
    read: response => ({
      status: response.state,
      urls: objectField(response, 'assets').video,
      error: { code: null, message: textOrNull(response.failure_reason) }
    }),
    cancel: handle => ({ method: 'DELETE', path: `/generations/${handle}` })
  })
}

function bodyOf (task: VideoTask) {
  refuseSeed(task)
  return withoutNulls({
    generation_type: 'video',
    model: task.model,
    prompt: task.prompt || null,
    duration: `${task.seconds}s`,
    aspect_ratio: aspectRatioFor(task, ratios),
    resolution: resolutionFor(task, ['540p', '720p', '1080p', '4k']),
    keyframes: keyframesOf(task)
  })
}

function keyframesOf ({ firstFrame, lastFrame }: VideoTask) {
  if (firstFrame === null && lastFrame === null) return null
  const image = (frame: FrameImage | null) => frame && { type: 'image', url: frameHttpUrl(frame) }
  return withoutNulls({ frame0: image(firstFrame), frame1: image(lastFrame) })
}
