import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { MediaRejected } from '../media/errors.ts'
import type { Download, MediaStore, StoredMedia } from '../media/media.ts'
import type { GeneratedImage } from '../providers/provider-image.ts'
import { convertImage, type Conversion } from './convert-image.ts'

export interface StoredImage { media: StoredMedia, revisedPrompt: string | null }

interface StoreImagesOptions {
  media: MediaStore
  download: Download
  account: string
  /** The provider whose addresses are fetched. */
  provider: string
  /** What the client asked for explicitly; the image is converted if the provider made something else. */
  conversion: Conversion
  signal: AbortSignal
  /** Receives the errors of images that were made but cannot be stored. */
  onLost: (error: unknown) => void
}

const maxImageBytes = 64 * 1024 * 1024
const fetchMs = 120_000

/**
 * Stores images; those that cannot be fetched or decoded are left out. Throws UpstreamError when none is
 * left; GatewayError, MediaUnavailable and StoreUnavailable when the store fails.
 */
export async function storeImages (
  made: readonly GeneratedImage[], options: StoreImagesOptions
): Promise<StoredImage[]> {
  const outcomes = await Promise.allSettled(made.map(image => store(image, options)))
  const stored = outcomes.flatMap(one => one.status === 'fulfilled' ? [one.value] : [])
  const failures = outcomes.flatMap(one => one.status === 'rejected' ? [one.reason] : [])
  failures.forEach(options.onLost)
  if (stored.length > 0) return stored
  throw failures.find(error => !isImageAtFault(error)) ??
    new UpstreamError('bad_reply', 'yes', 'The provider\'s images cannot be used.', { cause: failures[0] })
}

/** Whether the image is at fault rather than the gateway's store. */
function isImageAtFault (error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof MediaRejected || error instanceof GatewayError
}

async function store (image: GeneratedImage, options: StoreImagesOptions): Promise<StoredImage> {
  const { media, account, conversion } = options
  const body = await bodyOf(image, options)
  const isExplicit = conversion.size !== null || conversion.format != null
  const bytes = isExplicit ? await convertImage(await collect(body), conversion) : body
  const stored = await media.put(bytes, { kind: 'image', account, maxBytes: maxImageBytes })
  return { media: stored, revisedPrompt: image.revisedPrompt }
}

async function bodyOf (
  image: GeneratedImage, { download, provider, signal }: StoreImagesOptions
): Promise<AsyncIterable<Uint8Array> | Uint8Array> {
  if ('bytes' in image) return image.bytes
  const limited = AbortSignal.any([signal, AbortSignal.timeout(fetchMs)])
  return await download(image.url, { signal: limited, maxBytes: maxImageBytes, provider })
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
