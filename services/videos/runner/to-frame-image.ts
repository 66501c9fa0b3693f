import { UpstreamError } from '../../shared/errors.ts'
import type { FrameImage, VideoProvider } from '../../providers/provider-video.ts'
import { MediaUnavailable } from '../../media/errors.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { RunnerContext } from './runner-context.ts'
import type { Job } from '../job.ts'

const maxPictureBytes = 20 * 1024 * 1024
const timeoutMs = 60_000

/**
 * A frame in the format that a provider takes: a URL is downloaded for one that needs bytes, and bytes are
 * stored for one that needs a URL. Throws UpstreamError with `sent: 'no'`: `bad_request` for a picture that
 * cannot be used, `overloaded` while the gateway cannot store it.
 */
export async function toFrameImage (
  { media, download }: Pick<RunnerContext, 'media' | 'download'>, job: Job, url: string,
  format: VideoProvider['frameFormat']
): Promise<FrameImage> {
  const given = readPicture(url)
  if (format === undefined) return given
  try {
    if (format === 'bytes' && 'url' in given) return await fetchPicture(given.url, download)
    if (format === 'url' && 'bytes' in given) {
      const stored = await media.put(given.bytes, { kind: 'image', account: job.account, job: job.id })
      return { url: media.url(stored, job.baseUrl) }
    }
  } catch (cause) {
    if (cause instanceof MediaUnavailable || cause instanceof StoreUnavailable) {
      throw new UpstreamError('overloaded', 'no', 'A picture of the request cannot be stored now.', { cause })
    }
    const why = cause instanceof Error ? cause.message : 'unknown'
    throw new UpstreamError('bad_request', 'no', `An image of the request cannot be used: ${why}`,
      { param: 'messages', code: 'invalid_image_url', cause })
  }
  return given
}

function readPicture (url: string): FrameImage {
  const [head = '', body] = url.startsWith('data:') ? url.split(',', 2) : []
  if (body === undefined) return { url }
  const [mime = ''] = head.slice('data:'.length).split(';', 1)
  return { bytes: Buffer.from(body, 'base64'), mime: mime.toLowerCase() }
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
  throw new Error('it is not a PNG, JPEG, WebP or GIF')
}
