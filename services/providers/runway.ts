import { bearer, createVideoApi, type VideoUpstream } from './video-jobs/api.ts'
import { textOf } from './video-jobs/failures.ts'
import {
  aspectRatioOf, defined, pictureUrl, resolutionOf, sizeForRatio, sizeText, usualRatios, type ResolutionName
} from './video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

const apiVersion = '2024-11-06'
const codes = {} as const

/**
 * Runway, which also carries other makers' models. Its cost is in credits, so that it says no price. Source:
 * npm @runwayml/sdk 4.20; docs.dev.runwayml.com, task failures.
 */
export function createRunwayVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, headers: { 'x-runway-version': apiVersion }, codes })
  return createVideoProvider(api, {
    codes,
    // A task may be asked for every five seconds at most.
    polling: { minMs: 5_000 },
    submit (task) {
      const frames = framesOf(task)
      return {
        path: frames === null ? '/text_to_video' : '/image_to_video',
        body: defined({
          model: task.model,
          promptText: task.prompt,
          promptImage: frames,
          duration: task.seconds ?? (requiresDuration.has(task.model) ? 5 : null),
          ...shapeOf(task),
          seed: task.seed,
          audio: task.audio
        })
      }
    },
    idIn: answer => answer.id,
    path: handle => `/tasks/${handle}`,
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
      complaint: { code: textOf(failureCode), message: textOf(failure) }
    }),
    cancel: handle => ({ method: 'DELETE', path: `/tasks/${handle}` })
  })
}

function framesOf ({ firstFrame, lastFrame }: VideoTask) {
  const frames = [
    firstFrame && { uri: pictureUrl(firstFrame), position: 'first' },
    lastFrame && { uri: pictureUrl(lastFrame), position: 'last' }
  ].filter(frame => frame !== null)
  return frames.length === 0 ? null : frames
}

const requiresDuration = new Set(['gen4.5'])
const requiresRatio = /^(gen4|veo3)/

/** Models that take an aspect ratio and a resolution; of all others `ratio` is the size in pixels. */
const byResolution: readonly [RegExp, readonly ResolutionName[]][] = [
  [/^hailuo3/, ['768p', '2k']],
  [/^grok_imagine/, ['480p', '720p', '1080p']],
  [/^h3_max/, ['480p', '768p']]
]

const sizes = ['1280:720', '720:1280', '960:960', '1104:832', '832:1104', '1584:672']

function shapeOf (task: VideoTask) {
  const [, resolutions] = byResolution.find(([model]) => model.test(task.model)) ?? []
  if (resolutions !== undefined) {
    // Where there is a picture, it gives the shape.
    const ratio = task.firstFrame === null ? aspectRatioOf(task, usualRatios) : null
    return { ratio, resolution: resolutionOf(task, resolutions) }
  }
  const usual = requiresRatio.test(task.model) ? sizes[0] : null
  const possible = task.model.startsWith('veo3') ? sizes.slice(0, 2) : sizes
  return { ratio: sizeText(task, ':') ?? sizeForRatio(task, possible) ?? usual }
}
