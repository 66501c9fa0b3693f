import { createHmac } from 'node:crypto'
import { UpstreamError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { bearer, createVideoApi, type VideoUpstream } from './video-jobs/api.ts'
import { objectAt, textOf } from './video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureText, resolutionOf } from './video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import { createVideoProvider, handleIn, type VideoDialect } from './video-jobs/dialect.ts'

/** Source: Kling AI API, error codes. */
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
 * Kling. A task bears the submit key, which is unique per account: a second submit is refused, and the first
 * task is found by it. The key is a bearer token, or `<access key>:<secret key>`, of which a short-lived
 * token is made for each request. Source: Kling AI API; vercel/ai, packages/klingai.
 */
export function createKlingVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: authorization, codes, errorIn })
  const maker = createVideoProvider(api, wire)

  async function find (task: VideoTask, signal: AbortSignal): Promise<string | null> {
    try {
      const answer = await api.get(wire.path(handleOf(task.submitKey, task)), signal)
      return answer && handleIn(answer, task, wire)
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === 'not_found') return null
      throw error
    }
  }

  return {
    ...maker,
    submitsOnce: true,
    find,
    async submit (task, signal) {
      try {
        return await maker.submit(task, signal)
      } catch (error) {
        if (!(error instanceof UpstreamError && error.kind === 'bad_request' && error.sent === 'yes')) throw error
        // What is refused may be the key, because an earlier submit has used it.
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
  return `${actionOf(task)}/${encodeURIComponent(id)}`
}

const wire: VideoDialect = {
  codes,
  submit (task) {
    const hasPicture = actionOf(task) === 'image2video'
    const resolution = resolutionOf(task, ['720p', '1080p'])
    return {
      path: `/videos/${actionOf(task)}`,
      body: defined({
        model_name: task.model,
        prompt: task.prompt,
        image: pictureText(task.firstFrame),
        image_tail: pictureText(task.lastFrame),
        // The resolution has a name of its own.
        mode: resolution && (resolution === '1080p' ? 'pro' : 'std'),
        duration: task.seconds === null ? null : String(task.seconds),
        aspect_ratio: hasPicture ? null : aspectRatioOf(task, ['16:9', '9:16', '1:1']),
        sound: task.audio === null ? null : task.audio ? 'on' : 'off',
        external_task_id: task.submitKey
      })
    }
  },
  idIn: answer => objectAt(answer, 'data').task_id,
  handle: handleOf,
  path: handle => `/videos/${handle}`,
  states: { submitted: 'queued', processing: 'running', succeed: 'succeeded', failed: 'failed' },
  read (answer) {
    const data = objectAt(answer, 'data')
    const { videos } = objectAt(data, 'task_result')
    const [video = {}] = Array.isArray(videos) ? videos : []
    return {
      status: data.task_status,
      urls: video.url,
      seconds: video.duration,
      complaint: { code: null, message: textOf(data.task_status_msg) }
    }
  }
}

/** An answer of status 200 is an error unless its code is 0. */
function errorIn ({ code, message }: JsonObject) {
  return code === 0 || code === undefined ? null : { code: textOf(code), message: textOf(message) }
}

function authorization (apiKey: string) {
  const [accessKey = '', secretKey] = apiKey.split(':')
  return bearer(secretKey === undefined ? apiKey : tokenOf(accessKey, secretKey))
}

const token = { lifeS: 1800, slackS: 5 }

/** A JSON Web Token signed with HS256. Source: RFC 7519 and RFC 7515. */
function tokenOf (accessKey: string, secretKey: string): string {
  const nowS = Math.floor(Date.now() / 1000)
  const claims = { iss: accessKey, exp: nowS + token.lifeS, nbf: nowS - token.slackS }
  const parts = [{ alg: 'HS256', typ: 'JWT' }, claims].map(part => JSON.stringify(part))
  const text = parts.map(part => Buffer.from(part).toString('base64url')).join('.')
  return `${text}.${createHmac('sha256', secretKey).update(text).digest('base64url')}`
}
