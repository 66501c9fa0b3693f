import { createVideoClient } from './video-jobs/client.ts'
import { readErrorDetail, objectField } from './video-jobs/errors.ts'
import {
  commonAspectRatios, contentParts, refuseRatio, refuseSeed, resolutionFor, secondsAmong, shapeOf,
  withoutNulls
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { byModel } from './video-jobs/by-model.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'
import { createHailuoVideos } from './hailuo.ts'
import { minimaxCodes, minimaxError } from './minimax-errors.ts'

/** MiniMax: H3 by its second video API, Hailuo by the first, which is at `/v1` of the same host. */
export function createMiniMaxVideos (upstream: Upstream): VideoProvider {
  const hailuo = createHailuoVideos(upstream.at(upstream.baseUrl.replace(/\/v2$/, '/v1')))
  return byModel(createH3Videos(upstream), hailuo, { mark: 'v1:', serves: model => model.includes('Hailuo') })
}

/** MiniMax's second video API; it has no field for audio. Source: npm @ai-sdk/minimax 3.0.45, 24 Nov 2026. */
function createH3Videos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { codes: minimaxCodes, errorIn: minimaxError })
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
