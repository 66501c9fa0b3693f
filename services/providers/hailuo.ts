import { isObject, type JsonObject } from '../shared/json.ts'
import { createVideoClient } from './video-jobs/client.ts'
import { badReply, objectField, textOrNull } from './video-jobs/errors.ts'
import {
  frameUrl, refuseLastFrame, refuseOption, refuseRatio, refuseSeed, resolutionFor, secondsAmong, shapeOf,
  withoutNulls
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'
import { minimaxCodes, minimaxError } from './minimax-errors.ts'
import { urlPart } from './url-part.ts'

/**
 * MiniMax's first video API, which serves Hailuo. A finished task names a file, whose address is a second
 * request. Source: npm minimax-mcp-js 0.0.18, api/video.js, and PyPI minimax-mcp 0.0.19, both by MiniMax;
 * lengths, sizes and frames of each model: docs.unifically.com and docs.powertokens.ai, which agree, 28 Nov
 * 2026.
 */
export function createHailuoVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, {
    codes: minimaxCodes,
    // A failed task repeats its error in `base_resp`.
    errorIn: body => body.status === 'Fail' ? null : minimaxError(body)
  })

  async function addressOf (fileId: unknown, signal: AbortSignal): Promise<unknown> {
    const id = textOrNull(fileId)
    if (id === null) throw badReply('names no file')
    const response = await client.get(`/files/retrieve?file_id=${urlPart(id)}`, signal)
    return isObject(response) ? objectField(response, 'file').download_url : undefined
  }

  return createVideoProvider(client, {
    choices: () => ({ seconds: 6, size: '1366x768', sound: 'never' }),
    submit: task => ({ path: '/video_generation', body: bodyOf(task) }),
    jobId: response => response.task_id,
    pollPath: handle => `/query/video_generation?task_id=${handle}`,
    states: { Preparing: 'queued', Queueing: 'queued', Processing: 'running', Success: 'succeeded', Fail: 'failed' },
    read: async (response, _, signal) => ({
      status: response.status,
      ...(response.status === 'Success' && { urls: await addressOf(response.file_id, signal) }),
      error: minimaxError(response) ?? { code: null, message: null }
    })
  })
}

function bodyOf (task: VideoTask): JsonObject {
  refuseSeed(task)
  const { model, firstFrame, lastFrame } = task
  if (model !== 'MiniMax-Hailuo-02') refuseLastFrame(task)
  const needsPicture = model.endsWith('-Fast') || lastFrame !== null
  if (firstFrame === null && needsPicture) refuseOption('messages', 'needs a first frame')
  if (firstFrame === null) shapeOf(task, ['16:9'])
  else refuseRatio(task)
  const resolution = resolutionFor(task, ['768P', '1080P'])
  return withoutNulls({
    model,
    prompt: task.prompt || null,
    first_frame_image: frameUrl(firstFrame),
    last_frame_image: frameUrl(lastFrame),
    resolution,
    duration: secondsAmong(task, resolution === '768P' ? [6, 10] : [6])
  })
}
