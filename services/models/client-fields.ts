import { emptyPrice, type CatalogueModel } from '../config/catalogue/models.ts'
import type { ModelConfig } from '../config/catalogue/types.ts'
import { decimalText, usdText } from '../shared/money.ts'
import { isSold } from './registry.ts'

/** What a model reads and writes: `text`, `image`, `audio`, `video` or `file`. */
export interface Modalities { input: string[], output: string[] }

/**
 * The fields of a record where clients of OpenRouter, vLLM and LiteLLM look: @openrouter/sdk 1.3.19,
 * models/model.d.ts. Its parser needs every one of these, null where there is nothing to say.
 */
export function clientFields (
  model: ModelConfig, known: CatalogueModel | undefined, { input, output }: Modalities
) {
  const { id, contextWindow, maxOutput } = model
  return {
    name: id,
    canonical_slug: id,
    context_length: contextWindow,
    ...(contextWindow !== null && { max_model_len: contextWindow, max_input_tokens: contextWindow }),
    ...(maxOutput !== null && { max_tokens: maxOutput }),
    top_provider: { context_length: contextWindow, max_completion_tokens: maxOutput, is_moderated: false },
    architecture: {
      modality: `${input.join('+')}->${output.join('+')}`,
      input_modalities: input,
      output_modalities: output,
      tokenizer: 'Other',
      instruct_type: null
    },
    supported_parameters: model.kind === 'chat' ? parametersOf(model, known) : [],
    default_parameters: null,
    per_request_limits: null,
    supported_voices: null,
    knowledge_cutoff: known?.knowledge ?? null,
    links: { details: `/v1/models/${id}` }
  }
}

/** Parameters that a chat model takes, by OpenRouter's names. */
function parametersOf ({ capabilities }: ModelConfig, known: CatalogueModel | undefined): string[] {
  const { tools, jsonSchema, reasoning } = capabilities
  return [
    'max_tokens', 'max_completion_tokens', 'stop',
    ...known?.temperature === false ? [] : ['temperature', 'top_p'],
    ...tools ? ['tools', 'tool_choice'] : [],
    ...jsonSchema ? ['response_format', 'structured_outputs'] : [],
    ...reasoning ? ['reasoning_effort'] : []
  ]
}

/** OpenRouter's value for a price that is not known in advance. */
const unknownPrice = '-1'

/** Prices by OpenRouter's names: USD per token, exact decimal texts; `-1` for a model without a price. */
export function clientPricing (model: ModelConfig) {
  const price = model.price ?? emptyPrice
  const rest = isSold(model) ? '0' : unknownPrice
  return {
    prompt: perToken(price.inputPico) ?? rest,
    completion: perToken(price.outputPico) ?? rest,
    request: rest,
    ...(price.cacheReadPico !== null && { input_cache_read: perToken(price.cacheReadPico) }),
    ...(price.cacheWritePico !== null && { input_cache_write: perToken(price.cacheWritePico) }),
    ...(price.searchNano != null && { web_search: usdText(price.searchNano) })
  }
}

const picoDecimals = 12

function perToken (pico: number | null): string | undefined {
  return pico === null ? undefined : decimalText(pico, picoDecimals)
}
