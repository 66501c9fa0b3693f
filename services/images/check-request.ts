import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { ImageAbilities, ModelConfig, SizeRange } from '../config/catalogue/types.ts'
import { dimensionLimits } from '../media/dimensions.ts'
import { GatewayError } from '../shared/errors.ts'
import { sizeText, type ImageSize, type ImageOptions } from '../providers/provider-image.ts'

/** Checks a request against what the model can do. Throws GatewayError 400, which lists what it supports. */
export function checkRequest (
  request: ImageGenerationRequest, { id, images }: Pick<ModelConfig, 'id' | 'images'>
): ImageOptions {
  if (request.stream === true) {
    refuse('stream', 'Images are not streamed here: leave \'stream\' out.', 'unsupported_value')
  }
  if (request.background === 'transparent' && request.output_format === 'jpeg') {
    refuse('background', 'A transparent background needs \'output_format\' png or webp.', 'invalid_value')
  }
  const quality = wantedQuality(request.quality, images?.qualities ?? null, id)
  return {
    count: request.n ?? 1,
    size: wantedSize(request.size, images, id),
    quality,
    dropped: quality === null && isChoice(request.quality) ? ['quality'] : []
  }
}

/** Reads `<width>x<height>`; null for anything else. */
export function parseSize (text: string): ImageSize | null {
  const [, width, height] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text) ?? []
  return width === undefined || height === undefined ? null : { width: Number(width), height: Number(height) }
}

function wantedSize (
  requested: ImageGenerationRequest['size'], abilities: ImageAbilities | undefined, model: string
): ImageSize | null {
  if (!isChoice(requested)) return abilities?.defaultSize == null ? null : parseSize(abilities.defaultSize)
  const size = parseSize(requested)
  const { sizes = null, sizeRange = null } = abilities ?? {}
  if (size !== null && isTooLarge(size)) {
    const { side, pixels } = dimensionLimits
    refuse('size', `Invalid 'size': an image has at most ${side} pixels a side and ${pixels} in all.`, 'invalid_value')
  }
  const isSupported = size !== null &&
    ((sizes === null && sizeRange === null) || sizes?.includes(sizeText(size)) === true ||
      isWithin(size, sizeRange))
  if (isSupported) return size
  throw GatewayError.invalidRequest(
    `Invalid value: '${requested.slice(0, 100)}'. ${supportedSizes(model, sizes, sizeRange)}`,
    { param: 'size', code: 'invalid_value' })
}

/** An image of this size could not be stored, nor made from a smaller one. */
function isTooLarge ({ width, height }: ImageSize): boolean {
  const { side, pixels } = dimensionLimits
  return width > side || height > side || width * height > pixels
}

function isWithin ({ width, height }: ImageSize, range: SizeRange | null): boolean {
  if (range === null) return false
  const { min, max, multipleOf, maxRatio, maxPixels } = range
  const [short, long] = width < height ? [width, height] : [height, width]
  return short >= min && long <= max && width % multipleOf === 0 && height % multipleOf === 0 &&
    long <= short * maxRatio && width * height <= maxPixels
}

function supportedSizes (model: string, sizes: readonly string[] | null, range: SizeRange | null): string {
  const listed = sizes === null ? [] : [...sizes.map(size => `'${size}'`), '\'auto\'']
  const parts = [
    ...listed.length === 0 ? [] : [`Supported values of \`${model}\` are: ${listed.join(', ')}`],
    ...range === null ? [] : [rangeText(range)]
  ]
  const form = 'A size is \'<width>x<height>\' in pixels, or \'auto\''
  return `${parts.length === 0 ? form : parts.join('; ')}.`
}

function rangeText ({ min, max, multipleOf, maxRatio, maxPixels }: SizeRange): string {
  return `'<width>x<height>' with sides from ${min} to ${max}` +
    (multipleOf === 1 ? '' : `, both multiples of ${multipleOf}`) +
    (maxRatio >= max / min ? '' : `, at most ${maxRatio}:1`) +
    (maxPixels >= max * max ? '' : `, at most ${maxPixels} pixels`)
}

function wantedQuality (
  requested: ImageGenerationRequest['quality'], supported: readonly string[] | null, model: string
): string | null {
  if (!isChoice(requested) || supported?.length === 0) return null
  if (supported === null || supported.includes(requested)) return requested
  const listed = [...supported, 'auto'].map(quality => `'${quality}'`).join(', ')
  throw GatewayError.invalidRequest(
    `Invalid value: '${requested}'. Supported values of \`${model}\` are: ${listed}.`,
    { param: 'quality', code: 'invalid_value' })
}

function isChoice<Value extends string> (value: Value | null | undefined): value is Exclude<Value, 'auto'> {
  return value !== undefined && value !== null && value !== 'auto'
}

function refuse (param: string, message: string, code: string): never {
  throw GatewayError.invalidRequest(message, { param, code })
}
