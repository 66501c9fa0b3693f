import { createHmac } from 'node:crypto'
import { UpstreamError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { bearerAuth, createVideoClient } from './video-jobs/client.ts'
import { objectField, textOrNull } from './video-jobs/errors.ts'
import {
  aspectRatioFor, frameUrlOrBase64, refuseRatio, refuseSeed, refuseOption, resolutionFor, withoutNulls
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider, readJobHandle, type VideoDialect } from './video-jobs/dialect.ts'
import { urlPart } from './url-part.ts'

const codes = {
  1000: 'auth',
  1001: 'auth',
  1002: 'auth',
  1003: 'auth',
  1004: 'auth',
  1100: 'auth',
  1101: 'quota',
  1102: 'quota',
  1103: 'auth',
  1200: 'bad_request',
  1201: 'bad_request',
  1202: 'bad_request',
  1203: 'not_found',
  1300: 'moderated',
  1301: 'moderated',
  1302: 'rate',
  1303: 'rate',
  1304: 'auth',
  5001: 'overloaded'
} as const

/**
 * Kling. The submit key is sent as the task's external id, which is unique per account: a second submit is
 * rejected, and the first task can be found by it. The API key is a bearer token, or `<access key>:<secret
 * key>`, from which each request derives a short-lived token. Source: Kling AI API; vercel/ai,
 * packages/klingai at 052b6d5, 24 Nov 2026.
 */
export function createKlingVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { auth: tokenAuth, codes, errorIn })
  const provider = createVideoProvider(client, dialect)

  async function find (task: VideoTask, signal: AbortSignal): Promise<string | null> {
    try {
      const response = await client.get(dialect.pollPath(handleOf(task.submitKey, task)), signal)
      return response && readJobHandle(response, task, dialect)
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === 'not_found') return null
      throw error
    }
  }

  return {
    ...provider,
    submitsOnce: true,
    find,
    async submit (task, signal) {
      try {
        return await provider.submit(task, signal)
      } catch (error) {
        if (!(error instanceof UpstreamError && error.kind === 'bad_request' && error.sent === 'yes')) throw error
        // The submit key may be the reason: an earlier submit has used it.
        const handle = await find(task, signal).catch(() => null)
        if (handle === null) throw error
        return { handle }
      }
    }
  }
}

const actionOf = ({ firstFrame, lastFrame }: VideoTask) =>
  firstFrame === null && lastFrame === null ? 'text2video' : 'image2video'

function handleOf (id: string, task: VideoTask): string {
  return `${actionOf(task)}/${urlPart(id)}`
}

/** The master models have no modes. */
function resolutionsOf (model: string): readonly ('720p' | '1080p')[] {
  if (!model.endsWith('-master')) return ['720p', '1080p']
  return model === 'kling-v2-master' ? ['720p'] : ['1080p']
}

const statesSound = (model: string): boolean => !/^kling-v(1|2-(master|1|5))/.test(model)

const needsPicture = (model: string): boolean => /^kling-v(1-5|2-1)$/.test(model)

/** Sound as the model states it. Version 2.6 makes it in the mode `pro` only. */
function soundOf ({ model, audio }: VideoTask, mode: 'std' | 'pro'): string | null {
  if (!statesSound(model)) return null
  if (audio && mode === 'std' && model === 'kling-v2-6') refuseOption('video.audio', 'makes sound in 1080p only')
  return audio ? 'on' : 'off'
}

const dialect: VideoDialect = {
  choices: model => ({
    seconds: 5,
    size: resolutionsOf(model)[0] === '1080p' ? '1920x1080' : '1280x720',
    sound: statesSound(model) ? 'stated' : 'never'
  }),
  submit (task) {
    refuseSeed(task)
    const hasFrame = actionOf(task) === 'image2video'
    if (!hasFrame && needsPicture(task.model)) refuseOption('messages', 'needs a picture')
    const resolutions = resolutionsOf(task.model)
    const mode = resolutionFor(task, resolutions) === '1080p' ? 'pro' : 'std'
    return {
      path: `/videos/${actionOf(task)}`,
      body: withoutNulls({
        model_name: task.model,
        prompt: task.prompt || null,
        image: frameUrlOrBase64(task.firstFrame),
        image_tail: frameUrlOrBase64(task.lastFrame),
        mode: resolutions.length === 1 ? null : mode,
        duration: String(task.seconds),
        aspect_ratio: hasFrame ? refuseRatio(task) : aspectRatioFor(task, ['16:9', '9:16', '1:1']),
        sound: soundOf(task, mode),
        external_task_id: task.submitKey
      })
    }
  },
  jobId: response => objectField(response, 'data').task_id,
  handle: handleOf,
  pollPath: handle => `/videos/${handle}`,
  states: { submitted: 'queued', processing: 'running', succeed: 'succeeded', failed: 'failed' },
  read (response) {
    const data = objectField(response, 'data')
    const { videos } = objectField(data, 'task_result')
    const [video = {}] = Array.isArray(videos) ? videos : []
    return {
      status: data.task_status,
      urls: video.url,
      seconds: video.duration,
      error: { code: null, message: textOrNull(data.task_status_msg) }
    }
  }
}

function errorIn ({ code, message }: JsonObject) {
  return code === 0 || code === undefined ? null : { code: textOrNull(code), message: textOrNull(message) }
}

function tokenAuth (apiKey: string) {
  const [accessKey = '', secretKey] = apiKey.split(':')
  return bearerAuth(secretKey === undefined ? apiKey : createToken(accessKey, secretKey))
}

const token = { lifetimeS: 1800, clockSkewS: 5 }

/** A JSON Web Token signed with HS256. Source: RFC 7519 and RFC 7515. */
function createToken (accessKey: string, secretKey: string): string {
  const nowS = Math.floor(Date.now() / 1000)
  const claims = { iss: accessKey, exp: nowS + token.lifetimeS, nbf: nowS - token.clockSkewS }
  const parts = [{ alg: 'HS256', typ: 'JWT' }, claims].map(part => JSON.stringify(part))
  const text = parts.map(part => Buffer.from(part).toString('base64url')).join('.')
  return `${text}.${createHmac('sha256', secretKey).update(text).digest('base64url')}`
}
