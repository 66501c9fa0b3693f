import { GatewayError } from '../shared/errors.ts'
import { shownText } from '../shared/shown-text.ts'
import type { Job, JobVideo } from './job.ts'

/** The first video of a job. Throws GatewayError 409 if there is none, or none yet. */
export function videoOf ({ id, state, failure, videos }: Job): JobVideo {
  const [video] = videos
  if (state === 'succeeded' && video !== undefined) return video
  // OpenAI's SDKs would repeat a 409 at once.
  const headers = { 'x-should-retry': 'false' }
  if (failure === null) {
    throw new GatewayError(409, 'invalid_request_error', `The video \`${id}\` is not completed yet.`,
      { code: 'video_not_ready', headers })
  }
  throw new GatewayError(409, 'invalid_request_error', `The video \`${id}\` has failed: ${failure.message}`,
    { code: 'video_failed', headers })
}

/** 404: the account has no such video, or has deleted it. */
export function videoNotFound (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `The video \`${shownText(id, maxShownId)}\` does not exist.`,
    { param: 'id', code: 'video_not_found' })
}

const maxShownId = 128

/** 410: the file of a video was deleted at the end of its retention. */
export function videoExpired (): GatewayError {
  return new GatewayError(410, 'invalid_request_error', 'The video has expired.', { code: 'video_expired' })
}
