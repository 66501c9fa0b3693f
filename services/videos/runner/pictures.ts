import { UpstreamError } from '../../shared/errors.ts'
import type { FrameImage, VideoProvider } from '../../providers/provider-video.ts'
import type { RunnerContext } from './runner-context.ts'
import type { Job } from '../job.ts'

const maxPictureBytes = 20 * 1024 * 1024
const timeoutMs = 60_000

/**
 * A picture in the form that a provider takes: an address is fetched for one that wants bytes, and bytes are
 * put into the media store for one that wants an address. Throws UpstreamError, which nothing has been sent
 * before.
 */
export async function toPicture (
  { media, download }: Pick<RunnerContext, 'media' | 'download'>, job: Job, url: string, form: VideoProvider['frameFormat']
): Promise<FrameImage> {
  const given = readPicture(url)
  if (form === undefined) return given
  try {
    if (form === 'bytes' && 'url' in given) return await fetchPicture(given.url, download)
    if (form === 'url' && 'bytes' in given) {
      return { url: media.url(await media.put(given.bytes, { kind: 'image', account: job.account, job: job.id }), job.baseUrl) }
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unknown'
    throw new UpstreamError('bad_request', 'no', `A picture of the request cannot be used: ${why}`,
      { param: 'messages', code: 'invalid_image_url', cause })
  }
  return given
}

function readPicture (url: string): FrameImage {
  const [head = '', body] = url.startsWith('data:') ? url.split(',', 2) : []
  if (body === undefined) return { url }
  return { bytes: Buffer.from(body, 'base64'), mime: head.slice('data:'.length).replace(/;.*$/, '').toLowerCase() }
}

async function fetchPicture (url: string, download: RunnerContext['download']): Promise<FrameImage> {
  const pieces: Uint8Array[] = []
  const body = await download(url, { signal: AbortSignal.timeout(timeoutMs), maxBytes: maxPictureBytes })
  for await (const piece of body) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  return { bytes, mime: mimeOf(bytes) }
}

function mimeOf (bytes: Buffer): string {
  const start = bytes.toString('latin1', 0, 12)
  if (start.startsWith('\x89PNG')) return 'image/png'
  if (start.startsWith('\xff\xd8')) return 'image/jpeg'
  if (start.startsWith('GIF8')) return 'image/gif'
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp'
  throw new Error('it is no PNG, JPEG, WebP or GIF')
}
