import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { MediaRejected } from '../media/errors.ts'
import type { Download, MediaStore, StoredMedia } from '../media/media.ts'
import type { ImageSize, GeneratedImage } from '../providers/provider-image.ts'
import { finish } from './finish.ts'

/** An image that is in the store now. */
export interface KeptImage { media: StoredMedia, revisedPrompt: string | null }

export interface KeepOptions {
  media: MediaStore
  download: Download
  account: string
  /** The provider that named the addresses. */
  provider: string
  /** What the client asked for itself: then it gets exactly that, whatever the provider made of it. */
  size: ImageSize | null
  format: ImageGenerationRequest['output_format']
  compression: ImageGenerationRequest['output_compression']
  signal: AbortSignal
  /** Hears of images that were made but cannot be kept. */
  onLost: (error: unknown) => void
}

/** Most bytes of one image. */
const maxImageBytes = 64 * 1024 * 1024
/** Longest that the fetch of one image may take. */
const fetchMs = 120_000

/**
 * Brings images into the store; those that cannot be had are left out. Throws UpstreamError when there are
 * none, GatewayError, MediaUnavailable and StoreUnavailable when the store cannot take them.
 */
export async function keepImages (
  made: readonly GeneratedImage[], options: KeepOptions
): Promise<KeptImage[]> {
  const settled = await Promise.allSettled(made.map(image => keep(image, options)))
  const kept = settled.flatMap(one => one.status === 'fulfilled' ? [one.value] : [])
  const failures = settled.flatMap(one => one.status === 'rejected' ? [one.reason] : [])
  failures.forEach(options.onLost)
  if (kept.length > 0) return kept
  throw failures.find(error => !isAboutTheImage(error)) ??
    new UpstreamError('bad_reply', 'yes', 'The provider\'s images cannot be used.', { cause: failures[0] })
}

/** Whether the provider is to blame, rather than the gateway. */
function isAboutTheImage (error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof MediaRejected || error instanceof GatewayError
}

async function keep (image: GeneratedImage, options: KeepOptions): Promise<KeptImage> {
  const { media, account, size, format, compression } = options
  const body = await bodyOf(image, options)
  const isExacting = size !== null || format != null
  const finished = isExacting ? await finish(await collect(body), { size, format, compression }) : body
  const stored = await media.put(finished, { kind: 'image', account, maxBytes: maxImageBytes })
  return { media: stored, revisedPrompt: image.revisedPrompt }
}

async function bodyOf (
  image: GeneratedImage, { download, provider, signal }: KeepOptions
): Promise<AsyncIterable<Uint8Array> | Uint8Array> {
  if ('bytes' in image) return image.bytes
  const patience = AbortSignal.any([signal, AbortSignal.timeout(fetchMs)])
  return await download(image.url, { signal: patience, maxBytes: maxImageBytes, provider })
}

async function collect (body: AsyncIterable<Uint8Array> | Uint8Array): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxImageBytes) throw new MediaRejected('too_large', `The image has more than ${maxImageBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
