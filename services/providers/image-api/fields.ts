import { ImageGenerationRequest } from '../../../schemas/openai/images-generations.ts'
import { foldName } from '../../shared/request-fields.ts'
import type { JsonObject } from '../../shared/json.ts'

const listed: ReadonlySet<string> = new Set(Object.keys(ImageGenerationRequest.properties))

const handledFields = folded('model', 'prompt', 'n', 'size', 'response_format', 'stream', 'partial_images')

/** Fields the gateway applies itself if the provider does not. */
const emulatedFields = new Set(['output_format', 'output_compression'])

/**
 * Provider fields that change the price or run another model: passed on from a client, they would not be
 * charged for, and would go round the list of the models of a key.
 */
const pricedFields = folded(
  'aspect_ratio', 'batch_size', 'frames', 'height', 'image', 'image_size', 'image_url', 'images', 'input_references',
  'megapixels', 'num_images', 'num_inference_steps', 'num_outputs', 'num_samples', 'provider', 'reference_images',
  'resolution', 'samples', 'steps', 'tools', 'webhook', 'webhook_url', 'width',
  'num_images_per_prompt', 'max_images', 'sequential_image_generation', 'sequential_image_generation_options', 'upscale',
  'high_resolution', 'image_config', 'service_tier', 'models', 'route', 'preset', 'plugins', 'fallbacks', 'lora', 'loras',
  'svg', 'frame_count', 'complexity', 'prompt_rewriter', 'model_list', 'user_config', 'api_base', 'base_url', 'api_key', 'litellm_params', 'extra_body', 'provider_options'
)

/** Some servers ignore the case of names. */
function folded (...names: string[]): ReadonlySet<string> {
  return new Set(names.map(foldName))
}

/** The request fields to pass on unchanged, and the names of those left out. */
interface FieldSelection { passed: JsonObject, dropped: string[] }

/** Passes on all fields except those in `refused` and those that change the price. */
export function withoutFields (request: ImageGenerationRequest, refused: readonly string[]): FieldSelection {
  const passed: JsonObject = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(request)) {
    const folded = foldName(name)
    if (value === null || handledFields.has(folded)) continue
    const isMisspelled = !listed.has(name) && listed.has(name.toLowerCase())
    if (!pricedFields.has(folded) && !refused.includes(name) && !isMisspelled) passed[name] = value
    else if (!emulatedFields.has(name)) dropped.push(name)
  }
  return { passed, dropped }
}

/** Passes on only the fields in `known`. */
export function onlyFields (request: ImageGenerationRequest, known: readonly string[]): FieldSelection {
  return withoutFields(request, Object.keys(request).filter(name => !known.includes(name)))
}
