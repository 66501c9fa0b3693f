import { isObject } from '../shared/json.ts'
import { createVideoClient } from './video-jobs/client.ts'
import { readErrorDetail, objectField, textOrNull } from './video-jobs/errors.ts'
import {
  commonAspectRatios, contentParts, refuseRatio, refuseSeed, resolutionFor, secondsAmong, shapeOf,
  withoutNulls
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

const codes = {
  1002: 'rate',
  1004: 'auth',
  1008: 'quota',
  1026: 'moderated',
  1027: 'moderated',
  2013: 'bad_request',
  2049: 'auth'
} as const

/** MiniMax's second video API; it has no field for audio. Source: npm @ai-sdk/minimax 3.0.45, 24 Nov 2026. */
export function createMiniMaxVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { codes, errorIn })
  return createVideoProvider(client, {
    choices: model => ({ seconds: 5, size: isMax(model) ? '1366x768' : '2560x1440', sound: 'always' }),
    submit: task => ({ path: '/video_generation', body: bodyOf(task) }),
    jobId: response => response.task_id,
    pollPath: handle => `/query/video_generation/${handle}`,
    read (result) {
      const task = objectField(result, 'task')
      const usage = objectField(task, 'usage')
      return {
        status: task.status,
        urls: objectField(task, 'content').url,
        seconds: usage.output_seconds ?? usage.total_seconds ?? task.duration,
        error: readErrorDetail(task.error)
      }
    }
  })
}

const isMax = (model: string): boolean => model === 'MiniMax-H3-Max'

/** H3-Max begins at 5 s. */
const lengths = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]

function bodyOf (task: VideoTask) {
  refuseSeed(task)
  return withoutNulls({
    model: task.model,
    content: contentParts(task),
    resolution: resolutionFor(task, isMax(task.model) ? ['480P', '768P'] : ['768P', '2K']),
    duration: secondsAmong(task, isMax(task.model) ? lengths.slice(1) : lengths),
    // Stated always: the default adapts to a picture.
    ratio: task.firstFrame === null ? shapeOf(task, commonAspectRatios) : refuseRatio(task)
  })
}

/** The first API, and some proxies still, report errors with status 200 in `base_resp`. */
function errorIn ({ base_resp: base }: Record<string, unknown>) {
  if (!isObject(base) || base.status_code === 0 || base.status_code === undefined) return null
  return { code: textOrNull(base.status_code), message: textOrNull(base.status_msg) }
}
