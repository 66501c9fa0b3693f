import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import type { Upstream } from '../provider.ts'
import { callPath, type Dialect } from './dialects.ts'
import { fanOut } from '../image-api/fan-out.ts'
import type { ImageDialect } from './image-dialects.ts'
import { withoutFields } from '../image-api/fields.ts'
import type { GeneratedImages, ImageCall, ImageProvider, GeneratedImage } from '../provider-image.ts'
import { megapixelsOf, statedAspectRatio } from '../image-api/aspect-ratio.ts'
import { readImageCost, readImageUsage } from '../image-api/usage.ts'
import { createJsonClient } from '../image-api/json-client.ts'
import { imageFromUrl, imageFromBase64 } from '../image-api/generated-image.ts'
import { upstreamErrorIn } from './translate.ts'

/**
 * Images in OpenAI's wire format, in one dialect. Source: npm openai 7.57.0, `resources/images`, 24 Nov 2026.
 */
export function createOpenAIImages (upstream: Upstream, dialect: Dialect): ImageProvider {
  const { images, auth: { header, prefix } } = dialect
  const form = { dialect, secret: upstream.apiKey }
  const client = createJsonClient(upstream, { auth: apiKey => ({ [header]: prefix + apiKey }) })

  const generate: ImageProvider = call => fanOut(call.count, images.perCall, async count => {
    const refused = isGptImage(call.model) ? [...images.drop, 'style'] : images.drop
    const { passed, dropped } = withoutFields(call.request, refused)
    const body = { ...passed, ...bodyOf(call, count, images) }
    const path = callPath(images.path, call.model, dialect)
    return readImages(await client.post(path, body, call.signal), count, dropped, form)
  })
  return Object.assign(generate, { statesQuality: () => !images.drop.includes('quality') })
}

/** Whether it is a gpt-image model: these refuse `response_format` and `style` everywhere, and send bytes. */
export function isGptImage (model: string): boolean {
  return /(^|\/)(chat)?gpt-image/.test(model)
}

function bodyOf (
  { model, request, size, quality }: ImageCall, count: number, dialect: ImageDialect
): JsonObject {
  const wantsBytes = dialect.bytesFormat !== null && !isGptImage(model)
  return {
    model,
    prompt: request.prompt,
    n: count,
    ...sizeFields(size, dialect),
    ...(quality === null ? { quality: undefined } : {}),
    ...(wantsBytes ? { response_format: dialect.bytesFormat } : {})
  }
}

function sizeFields (size: ImageCall['size'], dialect: ImageDialect): JsonObject {
  // The price depends on the resolution.
  if (size === null) return dialect.size === 'ratio' ? { resolution: '1k' } : {}
  const { width, height } = size
  if (dialect.size === 'size') return { size: `${width}x${height}` }
  if (dialect.size === 'sides') return { width, height }
  return { aspect_ratio: statedAspectRatio(size, ratios), resolution: megapixelsOf(size) > 2 ? '2k' : '1k' }
}

const ratios = [
  '1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '2:1', '1:2', '19.5:9', '9:19.5', '20:9', '9:20'
]

function readImages (
  body: JsonObject, count: number, dropped: readonly string[],
  form: { dialect: Dialect, secret: string | null }
): GeneratedImages {
  const failure = upstreamErrorIn(body, form)
  if (failure !== null) throw failure
  const items = Array.isArray(body.data) ? body.data.filter(isObject) : []
  const refused = items.filter(item => item.respect_moderation === false)
  const images = items.filter(item => item.respect_moderation !== false).flatMap(imageIn)
  if (images.length === 0) {
    throw refused.length > 0
      ? new UpstreamError('moderated', 'yes', 'The images were blocked by the provider\'s content policy.')
      : new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has no images.')
  }
  return {
    images: images.slice(0, count),
    usage: readImageUsage(body.usage),
    costNano: readImageCost(body.usage),
    dropped,
    chosen: {
      ...(typeof body.quality === 'string' ? { quality: body.quality } : {}),
      ...(typeof body.background === 'string' ? { background: body.background } : {})
    }
  }
}

function imageIn (item: JsonObject): GeneratedImage[] {
  const revised = typeof item.revised_prompt === 'string' && item.revised_prompt !== '' ? item.revised_prompt : null
  if (typeof item.b64_json === 'string' && item.b64_json !== '') return [imageFromBase64(item.b64_json, revised)]
  return typeof item.url === 'string' && item.url !== '' ? [imageFromUrl(item.url, revised)] : []
}
