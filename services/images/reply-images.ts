import type { ImageGenerationRequest, ImagesResponse } from '../../schemas/openai/images-generations.ts'
import type { MediaStore } from '../media/media.ts'
import { isGptImage } from '../providers/openai/images.ts'
import type { GeneratedImages } from '../providers/provider-image.ts'
import { GatewayError } from '../shared/errors.ts'
import { usdText } from '../shared/money.ts'
import type { Made } from './generation.ts'
import type { StoredImage } from './store-images.ts'

/**
 * The response body: addresses of the stored images, their bytes, or both. Throws GatewayError 410 for images
 * that have expired, MediaUnavailable.
 */
export async function imagesResponse (
  { body, baseUrl }: { body: ImageGenerationRequest, baseUrl: string }, { answer: response, images }: Made,
  media: MediaStore
): Promise<ImagesResponse> {
  const stored = await Promise.all(images.map(async image => await storedImage(image, media)))
  const { response_format: form } = body
  // OpenAI sends only bytes for these models, so its clients read nothing else.
  const hasBytes = form === 'b64_json' || (form == null && isGptImage(body.model))
  const data = await Promise.all(stored.map(async image => ({
    ...(form === 'b64_json' ? {} : { url: media.url(image.media, baseUrl) }),
    ...(hasBytes ? { b64_json: await base64Of(image, media) } : {}),
    revised_prompt: image.revisedPrompt ?? body.prompt
  })))
  const { quality, background } = response.chosen ?? {}
  const format = common(stored, ({ media: { mime } }) => mime.replace('image/', ''))
  const size = common(stored, ({ media: { width, height } }) => width === null ? null : `${width}x${height}`)
  return {
    created: nowS(),
    data,
    ...(isOneOf(format, formats) ? { output_format: format } : {}),
    ...(isOneOf(size, sizes) ? { size } : {}),
    ...(isOneOf(quality, qualities) ? { quality } : {}),
    ...(isOneOf(background, backgrounds) ? { background } : {}),
    ...(response.usage === null ? {} : { usage: usageOf(response.usage) })
  }
}

/** The headers of a response, beside its model. */
export function replyHeaders ({ headers, costNano }: Made): Record<string, string> {
  return { ...headers, 'x-tollgate-cost': usdText(costNano) }
}

/** The body for a failure after 200 was sent. */
export function failureBody (error: GatewayError): object {
  return { created: nowS(), data: [], ...error.toBody() }
}

/** 504: the client is about to give up. OpenAI's SDKs retry at once, and join the generation. */
export function notReady (): GatewayError {
  return GatewayError.badGateway('The images are not ready yet. Send the same request again to keep waiting.',
    { status: 504, code: 'still_running', headers: { 'x-should-retry': 'true', 'retry-after-ms': '200' } })
}

async function storedImage (
  { media: id, revisedPrompt }: Made['images'][number], media: MediaStore
): Promise<StoredImage> {
  const stored = await media.get(id)
  if (stored !== undefined) return { media: stored, revisedPrompt }
  throw new GatewayError(410, 'invalid_request_error', 'The images have expired.', { code: 'images_expired' })
}

const nowS = (): number => Math.floor(Date.now() / 1000)

// Typed clients accept only these values.
const sizes = ['1024x1024', '1024x1536', '1536x1024'] as const
const formats = ['png', 'webp', 'jpeg'] as const
const qualities = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const backgrounds = ['transparent', 'opaque'] as const

function isOneOf<Value extends string> (
  value: string | null | undefined, values: readonly Value[]
): value is Value {
  return values.some(one => one === value)
}

async function base64Of (image: StoredImage, media: MediaStore): Promise<string> {
  const chunks = await Array.fromAsync(await media.read(image.media))
  return Buffer.concat(chunks).toString('base64')
}

/** What all images have in common; null when they differ. */
function common (images: readonly StoredImage[], of: (image: StoredImage) => string | null): string | null {
  const [first = null, ...others] = new Set(images.map(of))
  return others.length === 0 ? first : null
}

function usageOf (
  { inputText, inputImage, output, outputText }: NonNullable<GeneratedImages['usage']>
): NonNullable<ImagesResponse['usage']> {
  const input = inputText + inputImage
  return {
    input_tokens: input,
    output_tokens: output + outputText,
    total_tokens: input + output + outputText,
    input_tokens_details: { text_tokens: inputText, image_tokens: inputImage }
  }
}
