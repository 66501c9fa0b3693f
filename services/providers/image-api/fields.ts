import type { ImageGenerationRequest } from '../../../schemas/openai/images-generations.ts'
import type { JsonObject } from '../../shared/json.ts'

/** What the gateway itself does for every provider, so that none has to be told. */
const ownFields = new Set(['model', 'prompt', 'n', 'size', 'response_format', 'stream', 'partial_images'])

/** Brought about by the gateway where the provider does not. */
const madeUpFor = new Set(['output_format', 'output_compression'])

/**
 * Names by which other services are told how large, how many or how elaborate: what a client slips in under
 * them would be made but not paid for.
 */
const priced = new Set([
  'aspect_ratio', 'batch_size', 'frames', 'height', 'image', 'image_size', 'image_url', 'images', 'input_references',
  'megapixels', 'num_images', 'num_inference_steps', 'num_outputs', 'num_samples', 'provider', 'reference_images',
  'resolution', 'samples', 'steps', 'tools', 'webhook', 'webhook_url', 'width'
])

/** The fields that a provider may be sent beside those it is told in its own way, and those left out. */
export interface SortedFields { passed: JsonObject, dropped: string[] }

/** Sorts what the client sent by whether a provider that refuses the fields in `refused` can be told. */
export function sortFields (request: ImageGenerationRequest, refused: readonly string[]): SortedFields {
  const passed: JsonObject = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(request)) {
    if (value === null || ownFields.has(name)) continue
    if (!priced.has(name) && !refused.includes(name)) passed[name] = value
    else if (!madeUpFor.has(name)) dropped.push(name)
  }
  return { passed, dropped }
}

/** The same for a provider that knows none of OpenAI's fields: it is told those in `known` and no others. */
export function pickFields (request: ImageGenerationRequest, known: readonly string[]): SortedFields {
  return sortFields(request, Object.keys(request).filter(name => !known.includes(name)))
}
