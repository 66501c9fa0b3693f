import { UpstreamError } from '../shared/errors.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { unstatedSize } from './image-api/aspect-ratio.ts'
import { fanOut } from './image-api/fan-out.ts'
import { onlyFields } from './image-api/fields.ts'
import { imageFromUrl } from './image-api/generated-image.ts'
import { createJsonClient } from './image-api/json-client.ts'
import { sizeText, withoutQuality, type ImageCall, type ImageProvider, type ImageSize } from './provider-image.ts'
import type { Upstream } from './provider.ts'
import { bearerAuth } from './video-jobs/client.ts'
import { objectField, textOrNull } from './video-jobs/errors.ts'

/** Of the models that make certain sizes. Newer models make any with as many pixels as `pixels`. */
const sizes = ['1664x928', '1328x1328', '928x1664']
const pixels = { least: 512 * 512, most: 2048 * 2048 }

/**
 * Qwen-Image at Alibaba's Model Studio, one image a call. Source: PyPI litellm 1.110.2,
 * llms/dashscope/image_generation/transformation.py; pixels:
 * alibabacloud.com/help/model-studio/qwen-image-generation-and-editing-api-reference, 12 Oct 2026, and
 * qwen-image-api for the models before 2.0.
 */
export function createQwenImages (upstream: Upstream): ImageProvider {
  const client = createJsonClient(upstream, { auth: bearerAuth, refine })
  return withoutQuality(call => {
    const { passed, dropped } = onlyFields(call.request, ['seed', 'negative_prompt'])
    const body = bodyOf(call, passed)
    return fanOut(call.count, 1, async () => {
      const response = await client.post('/services/aigc/multimodal-generation/generation', body, call.signal)
      const url = addressIn(objectField(response, 'output'))
      if (url === undefined) throw withoutImage(response)
      return { images: [imageFromUrl(url, null)], usage: null, costNano: null, dropped }
    })
  })
}

function bodyOf ({ model, request, size }: ImageCall, passed: JsonObject): JsonObject {
  if (size !== null) checkSize(size, model)
  return {
    model,
    input: { messages: [{ role: 'user', content: [{ text: request.prompt }] }] },
    parameters: {
      ...passed,
      ...(size === null ? {} : { size: `${size.width}*${size.height}` }),
      n: 1,
      watermark: false
    }
  }
}

function checkSize (size: ImageSize, model: string): void {
  const area = size.width * size.height
  if (/qwen-image-[2-9]/.test(model)) {
    if (area >= pixels.least && area <= pixels.most) return
    unstatedSize(`makes images of ${pixels.least} to ${pixels.most} pixels, not ${sizeText(size)}`)
  }
  if (!sizes.includes(sizeText(size))) unstatedSize(`makes ${sizes.join(', ')}, not ${sizeText(size)}`)
}

/** Some errors have the status 200. */
function withoutImage (response: JsonObject): UpstreamError {
  const message = textOrNull(response.message) ?? 'The provider\'s response has no images.'
  return refine(new UpstreamError('bad_reply', 'yes', message), response)
}

function addressIn ({ choices }: JsonObject): string | undefined {
  const [choice] = Array.isArray(choices) ? choices.filter(isObject) : []
  const { content } = objectField(choice ?? {}, 'message')
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  return parts.map(({ image }) => image).find(image => typeof image === 'string')
}

function refine (error: UpstreamError, body: unknown): UpstreamError {
  const isModerated = isObject(body) && /^DataInspection/.test(String(body.code))
  return isModerated ? new UpstreamError('moderated', 'yes', error.message, error.details) : error
}
