import { createVideoClient } from './video-jobs/client.ts'
import { textOrNull } from './video-jobs/errors.ts'
import {
  aspectRatioFor, commonAspectRatios, formatVideoSize, frameUrl, resolutionFor, sizeForRatio, withoutNulls,
  type ResolutionName
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

/** Runway, which charges in credits. Source: npm @runwayml/sdk 4.20; docs.dev.runwayml.com. */
export function createRunwayVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { headers: { 'x-runway-version': '2024-11-06' } })
  return createVideoProvider(client, {
    // Runway asks for at most one poll per task every five seconds.
    polling: { minMs: 5_000 },
    submit (task) {
      const frames = framesOf(task)
      return {
        path: frames === null ? '/text_to_video' : '/image_to_video',
        body: withoutNulls({
          model: task.model,
          promptText: task.prompt,
          promptImage: frames,
          duration: task.seconds ?? (requiresDuration.has(task.model) ? 5 : null),
          ...sizeFieldsOf(task),
          seed: task.seed,
          audio: task.audio
        })
      }
    },
    pollPath: handle => `/tasks/${handle}`,
    states: {
      PENDING: 'queued',
      THROTTLED: 'queued',
      RUNNING: 'running',
      SUCCEEDED: 'succeeded',
      FAILED: 'failed',
      CANCELLED: 'cancelled'
    },
    read: ({ status, progress, output, failure, failureCode }) => ({
      status,
      progress: typeof progress === 'number' ? progress * 100 : null,
      urls: output,
      error: { code: textOrNull(failureCode), message: textOrNull(failure) }
    }),
    cancel: handle => ({ method: 'DELETE', path: `/tasks/${handle}` })
  })
}

function framesOf ({ firstFrame, lastFrame }: VideoTask) {
  const frames = [
    firstFrame && { uri: frameUrl(firstFrame), position: 'first' },
    lastFrame && { uri: frameUrl(lastFrame), position: 'last' }
  ].filter(frame => frame !== null)
  return frames.length === 0 ? null : frames
}

const requiresDuration = new Set(['gen4.5'])
const requiresRatio = /^(gen4|veo3)/

/** Models that take an aspect ratio and a resolution. For all others `ratio` is the size in pixels. */
const byResolution: readonly [RegExp, readonly ResolutionName[]][] = [
  [/^hailuo3/, ['768p', '2k']],
  [/^grok_imagine/, ['480p', '720p', '1080p']],
  [/^h3_max/, ['480p', '768p']]
]

const sizes = ['1280:720', '720:1280', '960:960', '1104:832', '832:1104', '1584:672']

function sizeFieldsOf (task: VideoTask) {
  const [, resolutions] = byResolution.find(([model]) => model.test(task.model)) ?? []
  if (resolutions !== undefined) {
    // The first frame determines the aspect ratio.
    const ratio = task.firstFrame === null ? aspectRatioFor(task, commonAspectRatios) : null
    return { ratio, resolution: resolutionFor(task, resolutions) }
  }
  const fallback = requiresRatio.test(task.model) ? sizes[0] : null
  const supported = task.model.startsWith('veo3') ? sizes.slice(0, 2) : sizes
  return { ratio: formatVideoSize(task, ':') ?? sizeForRatio(task, supported) ?? fallback }
}
