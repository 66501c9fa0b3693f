import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { fanOut } from '../image-api/fan-out.ts'
import { onlyFields } from '../image-api/fields.ts'
import {
  withoutQuality, type GeneratedImage, type GeneratedImages, type ImageCall, type ImageProvider,
  type ImageSize,
  type ImageUsage
} from '../provider-image.ts'
import { megapixelsOf, statedAspectRatio } from '../image-api/aspect-ratio.ts'
import { createJsonClient } from '../image-api/json-client.ts'
import { imageFromBase64 } from '../image-api/generated-image.ts'
import type { Upstream } from '../provider.ts'
import { tokenCount } from '../usage.ts'
import { protobufCount } from './usage.ts'
import { urlPart } from '../url-part.ts'

/**
 * Generates images with `generateContent`. Source: npm @google/genai 3.1.0 and @ai-sdk/google 4.0.121, 24 Nov
 * 2026.
 */
export function createGeminiImages (upstream: Upstream): ImageProvider {
  const client = createJsonClient(upstream, { auth: apiKey => ({ 'x-goog-api-key': apiKey }), refine })

  return withoutQuality(call => {
    const { passed: { seed }, dropped } = onlyFields(call.request, ['seed'])
    const path = `/models/${urlPart(call.model)}:generateContent`
    return fanOut(call.count, 1, async () => {
      return readImages(await client.post(path, bodyOf(call, seed), call.signal), dropped)
    })
  })
}

function bodyOf ({ request, size }: ImageCall, seed: unknown): JsonObject {
  return {
    contents: [{ role: 'user', parts: [{ text: request.prompt }] }],
    generationConfig: {
      responseModalities: ['IMAGE'],
      ...(size === null ? {} : { imageConfig: imageConfigOf(size) }),
      ...(seed === undefined ? {} : { seed })
    }
  }
}

const ratios = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']

function imageConfigOf (size: ImageSize): JsonObject {
  return { aspectRatio: statedAspectRatio(size, ratios), ...resolutionOf(size) }
}

/** `1K` is every model's default, and older models refuse the field. */
function resolutionOf (size: ImageSize): { imageSize?: string } {
  const megapixels = megapixelsOf(size)
  if (megapixels <= 2) return {}
  return { imageSize: megapixels <= 8 ? '2K' : '4K' }
}

function readImages (body: JsonObject, dropped: readonly string[]): GeneratedImages {
  const [candidate] = Array.isArray(body.candidates) ? body.candidates.filter(isObject) : []
  const content = isObject(candidate?.content) ? candidate.content : {}
  const parts = Array.isArray(content.parts) ? content.parts.filter(isObject) : []
  const image = parts.filter(part => part.thought !== true).map(imageIn).find(made => made !== null)
  if (image === undefined || image === null) throw refusalIn(body, candidate)
  return { images: [image], usage: usageIn(body.usageMetadata), costNano: null, dropped }
}

function imageIn ({ inlineData }: JsonObject): GeneratedImage | null {
  return isObject(inlineData) && typeof inlineData.data === 'string' && inlineData.data !== ''
    ? imageFromBase64(inlineData.data, null)
    : null
}

/** Why there is no image: the prompt was blocked, or the image was, or no reason was given. */
function refusalIn (body: JsonObject, candidate: JsonObject | undefined): UpstreamError {
  const blocked = isObject(body.promptFeedback) ? body.promptFeedback.blockReason : undefined
  const reason = String(blocked ?? candidate?.finishReason ?? '')
  if (blocked !== undefined || /SAFETY|PROHIBITED|BLOCKLIST|SPII|RECITATION/.test(reason)) {
    return new UpstreamError('moderated', 'yes', `The provider blocked the request (${reason}).`,
      { code: 'content_policy_violation' })
  }
  return new UpstreamError('bad_reply', 'yes', `The provider made no image (${reason || 'no reason given'}).`)
}

/** Null unless all are counts, and the image has tokens. */
function usageIn (usage: unknown): ImageUsage | null {
  if (!isObject(usage)) return null
  const inputText = protobufCount(usage.promptTokenCount)
  const written = protobufCount(usage.candidatesTokenCount)
  const thoughts = protobufCount(usage.thoughtsTokenCount)
  if (written === 0 || Number.isNaN(inputText + written + thoughts)) return null
  const output = Math.min(written, imageTokensIn(usage.candidatesTokensDetails) ?? written)
  return { inputText, inputImage: 0, output, outputText: written - output + thoughts }
}

function imageTokensIn (details: unknown): number | undefined {
  const entry = Array.isArray(details) ? details.find(one => isObject(one) && one.modality === 'IMAGE') : undefined
  return isObject(entry) ? tokenCount(entry.tokenCount) : undefined
}

/** A wrong key is reported with status 400. */
function refine (error: UpstreamError): UpstreamError {
  const isKey = error.kind === 'bad_request' && /api key/i.test(error.message)
  return isKey ? new UpstreamError('auth', 'yes', error.message, error.details) : error
}
