import type { ImageGenerationRequest } from '../../../schemas/openai/images-generations.ts'
import type { JsonObject } from '../../shared/json.ts'

const handledFields = new Set(['model', 'prompt', 'n', 'size', 'response_format', 'stream', 'partial_images'])

/** Fields the gateway applies itself if the provider does not. */
const emulatedFields = new Set(['output_format', 'output_compression'])

/** Provider fields that change the price: passed on from a client, they would not be charged for. */
const pricedFields = new Set([
  'aspect_ratio', 'batch_size', 'frames', 'height', 'image', 'image_size', 'image_url', 'images', 'input_references',
  'megapixels', 'num_images', 'num_inference_steps', 'num_outputs', 'num_samples', 'provider', 'reference_images',
  'resolution', 'samples', 'steps', 'tools', 'webhook', 'webhook_url', 'width'
])

/** The request fields to pass on unchanged, and the names of those left out. */
interface FieldSelection { passed: JsonObject, dropped: string[] }

/** Passes on all fields except those in `refused` and those that change the price. */
export function withoutFields (request: ImageGenerationRequest, refused: readonly string[]): FieldSelection {
  const passed: JsonObject = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(request)) {
    if (value === null || handledFields.has(name)) continue
    if (!pricedFields.has(name) && !refused.includes(name)) passed[name] = value
    else if (!emulatedFields.has(name)) dropped.push(name)
  }
  return { passed, dropped }
}

/** Passes on only the fields in `known`. */
export function onlyFields (request: ImageGenerationRequest, known: readonly string[]): FieldSelection {
  return withoutFields(request, Object.keys(request).filter(name => !known.includes(name)))
}
