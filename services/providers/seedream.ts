import { UpstreamError } from '../shared/errors.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { unstatedSize } from './image-api/aspect-ratio.ts'
import { fanOut } from './image-api/fan-out.ts'
import { onlyFields } from './image-api/fields.ts'
import { imageFromUrl } from './image-api/generated-image.ts'
import { createJsonClient } from './image-api/json-client.ts'
import { sizeText, withoutQuality, type ImageCall, type ImageProvider } from './provider-image.ts'
import type { Upstream } from './provider.ts'
import { bearerAuth } from './video-jobs/client.ts'

/**
 * Seedream at BytePlus or Volcengine, one image a call. Source: PyPI byteplus-python-sdk-v2 3.0.63,
 * types/images/images.py; pixels, and what each model takes: Comfy-Org/ComfyUI,
 * comfy_api_nodes/nodes_bytedance.py at 372f645, 28 Nov 2026.
 */
export function createSeedreamImages (upstream: Upstream): ImageProvider {
  const client = createJsonClient(upstream, { auth: bearerAuth, refine })
  return withoutQuality(call => {
    const { passed, dropped } = onlyFields(call.request, ['seed'])
    const body = { ...passed, ...bodyOf(call) }
    return fanOut(call.count, 1, async () => {
      const { data, error } = await client.post('/images/generations', body, call.signal)
      const [image] = Array.isArray(data) ? data.filter(isObject) : []
      if (typeof image?.url !== 'string') throw failureOf(image?.error ?? error)
      return { images: [imageFromUrl(image.url, null)], usage: null, costNano: null, dropped }
    })
  })
}

/** What a model makes of an image, in pixels: the least and the most. */
function pixelsOf (model: string): [least: number, most: number] {
  if (isSingle(model)) return [1280 * 720, 4_624_220]
  return [model.includes('seedream-4-0') ? 1280 * 720 : 2560 * 1440, 4096 * 4096]
}

/** Whether a model makes one image a call and has no field that says so. */
const isSingle = (model: string): boolean => /seedream-5-0-(pro|flash)/.test(model)

function bodyOf ({ model, request, size }: ImageCall): JsonObject {
  const [least, most] = pixelsOf(model)
  const pixels = size === null ? most : size.width * size.height
  if (size !== null && (pixels < least || pixels > most)) {
    unstatedSize(`makes images of ${least} to ${most} pixels, not ${sizeText(size)}`)
  }
  return {
    model,
    prompt: request.prompt,
    ...(size === null ? {} : { size: sizeText(size) }),
    response_format: 'url',
    // `auto` may make, and charge, several.
    ...(isSingle(model) ? {} : { sequential_image_generation: 'disabled' }),
    watermark: false
  }
}

/** Why an image is missing from a successful response. */
function failureOf (said: unknown): UpstreamError {
  const { code, message } = isObject(said) ? said : {}
  const error = new UpstreamError('bad_reply', 'yes', String(message ?? 'The provider\'s response has no images.'))
  return isModerated(code) ? moderated(error) : error
}

function refine (error: UpstreamError, body: unknown): UpstreamError {
  const code = isObject(body) && isObject(body.error) ? body.error.code : undefined
  return isModerated(code) ? moderated(error) : error
}

/** As in `OutputImageSensitiveContentDetected`. */
const isModerated = (code: unknown): boolean => /SensitiveContentDetected/.test(String(code))

const moderated = ({ message, details }: UpstreamError) => new UpstreamError('moderated', 'yes', message, details)
