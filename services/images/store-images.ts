import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { MediaRejected } from '../media/errors.ts'
import { copyFaultOf, type CopyFault } from '../media/copy-fault.ts'
import type { Download, MediaStore, ReceivedMedia, StoredMedia } from '../media/media.ts'
import type { GeneratedImage } from '../providers/provider-image.ts'
import { convertImage, type Conversion } from './convert-image.ts'

export interface StoredImage { media: StoredMedia, revisedPrompt: string | null }

export interface StoreImagesOptions {
  media: MediaStore
  download: Download
  account: string
  /** The provider whose addresses are fetched. */
  provider: string
  /** The size and format that the request names; the image is converted if the provider made another. */
  conversion: Conversion
  /** Aborted at the deadline of the request, and when the gateway stops. */
  signal: AbortSignal
  /** Receives the errors of images that were made but could not be stored. */
  onLost: (error: unknown) => void
  /** Receives each attempt to store an image that failed and is repeated, and the last one. */
  onCopyFailure: (fault: CopyFault, error: unknown) => void
}

const maxImageBytes = 64 * 1024 * 1024
const fetchMs = 120_000
const storeMs = 120_000
/** Attempts that find a dead address. */
const maxDead = 3
const backoffMs = 500
const maxBackoffMs = 10_000

/**
 * Stores images; those that cannot be fetched or decoded are left out. While the store fails or the
 * provider lags, they are stored again until `signal` is aborted. Throws UpstreamError when none is left;
 * GatewayError, MediaUnavailable and StoreUnavailable when the store fails.
 */
export async function storeImages (
  made: readonly GeneratedImage[], options: StoreImagesOptions
): Promise<StoredImage[]> {
  const outcomes = await Promise.allSettled(made.map(image => store(image, options)))
  const stored = outcomes.flatMap(one => one.status === 'fulfilled' ? [one.value] : [])
  const failures = outcomes.flatMap(one => one.status === 'rejected' ? [one.reason] : [])
  failures.forEach(options.onLost)
  if (stored.length > 0) return stored
  if (isStopped(options.signal)) throw options.signal.reason
  throw failures.find(error => !isImageAtFault(error)) ??
    new UpstreamError('bad_reply', 'yes', 'The provider\'s images cannot be used.', { cause: failures[0] })
}

function isStopped ({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof GatewayError
}

/** Whether the image is at fault rather than the gateway's store. */
function isImageAtFault (error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof MediaRejected || error instanceof GatewayError
}

async function store (image: GeneratedImage, options: StoreImagesOptions): Promise<StoredImage> {
  const { signal, onCopyFailure } = options
  let received: ReceivedMedia | null = null
  try {
    for (let attempts = 1; ; attempts++) {
      try {
        received ??= await receive(image, options)
        const stored = await received.store(AbortSignal.any([signal, AbortSignal.timeout(storeMs)]))
        return { media: stored, revisedPrompt: image.revisedPrompt }
      } catch (error) {
        // Interrupted by the deadline or the gateway's stop: neither the store nor the provider failed.
        if (isStopped(signal)) throw signal.reason
        const fault = copyFaultOf(error)
        onCopyFailure(fault, error)
        const isFinal = fault === 'too large' || (fault === 'dead' && ('bytes' in image || attempts >= maxDead))
        if (isFinal || signal.aborted) throw error
        await sleep(Math.min(maxBackoffMs, backoffMs * 2 ** (attempts - 1)), null, { signal })
          .catch(() => { throw error })
      }
    }
  } finally {
    await received?.discard()
  }
}

async function receive (image: GeneratedImage, options: StoreImagesOptions): Promise<ReceivedMedia> {
  const { media, account, conversion } = options
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  try {
    const body = await bodyOf(image, { ...options, signal })
    const isExplicit = conversion.size !== null || conversion.format != null
    const bytes = isExplicit ? await convertImage(await collect(body), conversion) : body
    return await media.receive(bytes, { kind: 'image', account, maxBytes: maxImageBytes, signal })
  } catch (error) {
    // Closes a connection whose body was not read.
    failed.abort()
    throw error
  }
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
