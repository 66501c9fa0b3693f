import { UpstreamError } from '../../shared/errors.ts'
import { isText, type JsonObject } from '../../shared/json.ts'
import { statedAspectRatio } from '../image-api/aspect-ratio.ts'
import { fanOut } from '../image-api/fan-out.ts'
import { onlyFields } from '../image-api/fields.ts'
import { imageFromBase64 } from '../image-api/generated-image.ts'
import type { GeneratedImages, ImageCall, ImageProvider } from '../provider-image.ts'
import type { Upstream } from '../provider.ts'
import { readObject } from '../upstream/read-response.ts'
import { urlPart } from '../url-part.ts'
import { bedrockConnection } from './connection.ts'
import type { BedrockOptions } from './credentials.ts'
import { foundationModel } from './model-names.ts'

/** Enough for five images of 4 megapixels in base64. */
const maxResponseBytes = 128 * 1024 * 1024

/** How a maker's models state a request, and how many images one call makes. */
interface ImageForm {
  perCall: number
  fields: readonly string[]
  body (call: ImageCall, count: number, passed: JsonObject): JsonObject
}

const ratios = ['1:1', '16:9', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21']

/**
 * Images of Amazon (Nova Canvas, Titan) and Stability AI over InvokeModel. Source: docs.aws.amazon.com,
 * "Inference request parameters", November 2026.
 */
export function createBedrockImages (upstream: Upstream, { aws, identity }: BedrockOptions): ImageProvider {
  const { apiKey: secret } = upstream
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...upstream.headers }
  const connection = bedrockConnection(upstream.connection, { secret, identity })

  const generate: ImageProvider = async call => {
    const form = formOf(call.model)
    const { passed, dropped } = onlyFields(call.request, form.fields)
    return await fanOut(call.count, form.perCall, async count => {
      const response = await connection.send({
        method: 'POST',
        path: `/model/${urlPart(call.model)}/invoke`,
        headers,
        body: Buffer.from(JSON.stringify(form.body(call, count, passed))),
        signal: call.signal,
        awaits: 'whole'
      })
      return imagesIn(await readObject(response, maxResponseBytes), dropped)
    })
  }

  function formOf (model: string): ImageForm {
    return foundationModel(model, aws?.arns).startsWith('stability.') ? stability : amazon
  }

  return Object.assign(generate, { statesQuality: (model: string) => formOf(model) === amazon })
}

const amazon: ImageForm = {
  perCall: 5,
  fields: ['quality', 'seed', 'negative_prompt', 'cfg_scale'],
  body: ({ request, size, quality }, count, { seed, negative_prompt: negative, cfg_scale: scale }) => ({
    taskType: 'TEXT_IMAGE',
    textToImageParams: { text: request.prompt, ...(isText(negative) && { negativeText: negative }) },
    imageGenerationConfig: {
      numberOfImages: count,
      ...(size ?? { width: 1024, height: 1024 }),
      ...(quality === null ? {} : { quality }),
      ...(seed === undefined ? {} : { seed }),
      ...(scale === undefined ? {} : { cfgScale: scale })
    }
  })
}

const stability: ImageForm = {
  perCall: 1,
  fields: ['seed', 'negative_prompt'],
  body: ({ request, size }, _, passed) => ({
    ...passed,
    prompt: request.prompt,
    output_format: 'png',
    aspect_ratio: size === null ? '1:1' : statedAspectRatio(size, ratios)
  })
}

/** `finish_reasons` has the filter of each image that was held back, and null for the others. */
function imagesIn (
  { images, error, finish_reasons: reasons }: JsonObject, dropped: readonly string[]
): GeneratedImages {
  const filtered = [error, ...(Array.isArray(reasons) ? reasons : [])].find(isText)
  const found = Array.isArray(images) ? images.filter(isText) : []
  if (found.length === 0 && filtered !== undefined) throw new UpstreamError('moderated', 'yes', filtered)
  if (found.length === 0) throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has no images.')
  return { images: found.map(image => imageFromBase64(image, null)), usage: null, costNano: null, dropped }
}
