import { UpstreamError } from '../../shared/errors.ts'
import { isText, type JsonObject } from '../../shared/json.ts'
import type { Upstream } from '../provider.ts'
import type { VideoFile, VideoProvider, VideoState, VideoTask } from '../provider-video.ts'
import { readObject } from '../upstream/read-response.ts'
import { urlPart } from '../url-part.ts'
import { asMaybeSent, badReply, jobError, objectField, sentForKind, textOrNull } from '../video-jobs/errors.ts'
import {
  aspectRatioFor, frameBytes, refuseLastFrame, refuseOption, refuseRatio, refuseSeed, resolutionFor,
  secondsAmong, sizeAmong, withoutNulls
} from '../video-jobs/fields.ts'
import { bedrockConnection } from './connection.ts'
import type { BedrockOptions } from './credentials.ts'
import { foundationModel } from './model-names.ts'

/**
 * Videos of Nova Reel and Luma Ray: StartAsyncInvoke, whose results are written to a bucket, from which they
 * are read with the same credentials. Source: @aws-sdk/client-bedrock-runtime 3.1164.0; docs.aws.amazon.com,
 * "Nova Reel" and "Luma AI", November 2026.
 */
export function createBedrockVideos (upstream: Upstream, { aws, identity }: BedrockOptions): VideoProvider {
  const { apiKey: secret, baseUrl, connect } = upstream
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...upstream.headers }
  const connection = bedrockConnection(upstream.connection, { secret, identity })
  const isLuma = (model: string): boolean => foundationModel(model, aws?.arns).startsWith('luma.')
  const inputOf = (task: VideoTask): JsonObject => isLuma(task.model) ? lumaInput(task) : reelInput(task)

  function bodyOf (task: VideoTask): JsonObject {
    if (aws?.bucket == null) throw new UpstreamError('bad_request', 'no', 'The provider has no bucket for videos.')
    return {
      clientRequestToken: task.submitKey,
      modelId: task.model,
      modelInput: inputOf(task),
      outputDataConfig: { s3OutputDataConfig: { s3Uri: aws.bucket } }
    }
  }

  /** The video that a job has written to its folder in the bucket. */
  function videoAt (folder: string): VideoFile {
    const [, bucket, prefix] = /^s3:\/\/([^/]+)\/(.+?)\/?$/.exec(folder) ?? []
    if (bucket === undefined || prefix === undefined) throw badReply('names no place of the video')
    const store = bedrockConnection(connect(baseUrl.replace('://bedrock-runtime', '://s3')), { secret, identity })
    const path = [bucket, ...prefix.split('/'), 'output.mp4'].map(urlPart).join('/')
    return { open: async signal => await store.send({ method: 'GET', path: `/${path}`, headers: {}, signal }) }
  }

  return {
    polling: { minMs: 5_000, maxMs: 15_000, deadlineMs: 60 * 60_000 },
    // A repeated token returns the job that it began.
    submitsOnce: true,
    frameFormat: 'bytes',
    choices: model => ({ seconds: isLuma(model) ? 5 : 6, size: '1280x720', sound: 'never' }),
    check (task) { inputOf(task) },
    async submit (task, signal) {
      const body = Buffer.from(JSON.stringify(bodyOf(task)))
      const response = await connection.send({ method: 'POST', path: '/async-invoke', headers, body, signal })
        .catch((error: unknown) => { throw asRefused(error) })
      const { invocationArn: arn } = await readObject(response)
        .catch((error: unknown) => { throw asMaybeSent(error) })
      if (!isText(arn) || arn.length > 512) throw asMaybeSent(badReply('has no job id'))
      return { handle: arn }
    },
    async poll (handle, signal) {
      const path = `/async-invoke/${urlPart(handle)}`
      return stateIn(await readObject(await connection.send({ method: 'GET', path, headers, signal })), videoAt)
    }
  }
}

/** A refused request has started no job; after other failures, one may have started. */
function asRefused (error: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.sent !== 'yes') return error
  return new UpstreamError(error.kind, sentForKind(error.kind), error.message, error.details)
}

function stateIn (job: JsonObject, videoAt: (folder: string) => VideoFile): VideoState {
  if (job.status === 'Failed') {
    const message = textOrNull(job.failureMessage) ?? 'The provider failed to generate the video.'
    return { state: 'failed', error: jobError({ code: null, message }, {}) }
  }
  if (job.status !== 'Completed') return { state: 'running', progress: null }
  const folder = objectField(objectField(job, 'outputDataConfig'), 's3OutputDataConfig').s3Uri
  return { state: 'succeeded', videos: [videoAt(String(folder))], seconds: null, costNano: null }
}

/** Longer videos have several shots, which the model plans. */
const longLengths = Array.from({ length: 19 }, (_, index) => 12 + 6 * index)

function reelInput (task: VideoTask): JsonObject {
  refuseLastFrame(task)
  refuseRatio(task, 'makes 16:9 alone')
  const dimension = sizeAmong(task, ['1280x720'])
  const durationSeconds = secondsAmong(task, task.firstFrame === null ? [6, ...longLengths] : [6])
  const frame = frameBytes(task.firstFrame)
  const images = frame && [{ format: frame.mime.replace('image/', ''), source: { bytes: frame.base64 } }]
  const isLong = durationSeconds > 6
  return {
    taskType: isLong ? 'MULTI_SHOT_AUTOMATED' : 'TEXT_VIDEO',
    [isLong ? 'multiShotAutomatedParams' : 'textToVideoParams']: withoutNulls({ text: task.prompt, images }),
    videoGenerationConfig: withoutNulls({ durationSeconds, fps: 24, dimension, seed: task.seed })
  }
}

function lumaInput (task: VideoTask): JsonObject {
  refuseSeed(task)
  if (task.prompt === '') refuseOption('messages', 'needs a prompt')
  const frames = [task.firstFrame, task.lastFrame].map(frame => {
    const data = frameBytes(frame)
    return data && { type: 'image', source: { type: 'base64', media_type: data.mime, data: data.base64 } }
  })
  const [frame0 = null, frame1 = null] = frames
  return withoutNulls({
    prompt: task.prompt,
    aspect_ratio: aspectRatioFor(task, ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9', '9:21']) ?? '16:9',
    duration: `${secondsAmong(task, [5, 9])}s`,
    resolution: resolutionFor(task, ['540p', '720p']),
    keyframes: frame0 === null && frame1 === null ? null : withoutNulls({ frame0, frame1 })
  })
}
