import { createVideoClient } from './video-jobs/client.ts'
import { textOrNull } from './video-jobs/errors.ts'
import { bodyOf, runwayChoices } from './runway-body.ts'
import type { VideoProvider } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

/** Runway, which charges in credits. Source: npm @runwayml/sdk 4.20.1, 24 Nov 2026. */
export function createRunwayVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { headers: { 'x-runway-version': '2024-11-06' } })
  return createVideoProvider(client, {
    // Runway asks for at most one poll per task every five seconds.
    polling: { minMs: 5_000 },
    choices: runwayChoices,
    submit: task => ({
      path: task.firstFrame === null && task.lastFrame === null ? '/text_to_video' : '/image_to_video',
      body: bodyOf(task)
    }),
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
