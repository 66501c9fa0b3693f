import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../shared/json.ts'
import { megapixelsOf, statedAspectRatio, unstatedSize } from '../image-api/aspect-ratio.ts'
import { sizeText, type ImageCall, type ImageSize } from '../provider-image.ts'

/** The fields of one of fal's image models. */
export interface FalImageModel {
  /**
   * How a size is stated: `image_size` with both sides or, with `names`, as one of three texts; as
   * `aspect_ratio`; or not at all.
   */
  size: 'sides' | 'names' | 'ratio' | 'none'
  ratios: readonly string[]
  /** Values of `resolution`. */
  resolutions: readonly string[]
  /** Whether it has `num_images`. */
  count: boolean
  formats: readonly string[]
  seed: boolean
  negative: boolean
  quality: boolean
}

interface FalImageModels { usual: FalImageModel, models: Record<string, Partial<FalImageModel>> }

let known: FalImageModels | undefined

/** The fields of a model as fal's client declares them; of another model the usual ones. */
export function imageFieldsOf (name: string): FalImageModel {
  known ??= readModels()
  const { usual, models } = known
  if (Object.hasOwn(models, name)) return { ...usual, ...models[name] }
  // Not declared, so it may take these; fal ignores a field that a model does not have.
  return { ...usual, negative: true }
}

/** The names of the models that fal's client declares. */
export function declaredImages (): string[] {
  known ??= readModels()
  return Object.keys(known.models)
}

function readModels (): FalImageModels {
  return JSON.parse(readFileSync(new URL('images.json', import.meta.url), 'utf8'))
}

const names = ['1024x1024', '1536x1024', '1024x1536']

/**
 * What a request states of size and quality. Throws UpstreamError for a size that the model has no field
 * for.
 */
export function choiceFields ({ size, quality }: Pick<ImageCall, 'size' | 'quality'>, model: FalImageModel): JsonObject {
  return {
    ...(size !== null && sizeFields(size, model)),
    ...(model.resolutions.length > 0 && { resolution: resolutionNamed(size, model.resolutions) }),
    ...(model.quality && quality !== null && { quality })
  }
}

function sizeFields (size: ImageSize, { size: form, ratios }: FalImageModel): JsonObject {
  switch (form) {
    case 'sides': return { image_size: size }
    case 'ratio': return { aspect_ratio: statedAspectRatio(size, ratios) }
    case 'names':
      return names.includes(sizeText(size)) ? { image_size: sizeText(size) } : unstatedSize(`makes ${names.join(', ')}`)
    case 'none': return unstatedSize('takes no size')
  }
}

/** The resolution with about as many pixels, because it changes the price; the usual one without a size. */
function resolutionNamed (size: ImageSize | null, resolutions: readonly string[]): string | undefined {
  const wanted = size === null ? 1 : megapixelsOf(size)
  const distance = (name: string) => Math.abs(Math.log(megapixelsNamed(name) / wanted))
  return resolutions.toSorted((one, other) => distance(one) - distance(other))[0]
}

/** `2K` is a square of 2048 pixels a side, `4MP` has four megapixels. */
function megapixelsNamed (name: string): number {
  const number = parseFloat(name)
  return name.endsWith('MP') ? number : number ** 2
}
