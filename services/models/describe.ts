import type { Model } from '../../schemas/openai/models.ts'
import type { Capabilities, ModelConfig, Price } from '../catalogue/types.ts'
import { usdText } from '../shared/money.ts'
import { catalogueModel, assumedCapabilities } from '../catalogue/models.ts'
import type { CatalogueModel } from '../catalogue/models.ts'
import { describeImages } from './describe-images.ts'

/** What clients are told of a model: OpenAI's fields, and what is known of price, limits and abilities. */
export function describeModel (model: ModelConfig): Model {
  const { id, kind, created, ownedBy, price, contextWindow, maxOutput, capabilities } = model
  const [first] = model.deployments
  const known = first && catalogueModel(first.provider, first.model)
  return {
    id,
    object: 'model',
    created,
    owned_by: ownedBy,
    kind,
    ...(contextWindow === null ? {} : { context_window: contextWindow }),
    ...(maxOutput === null ? {} : { max_output_tokens: maxOutput }),
    ...(price === null ? {} : { pricing: toPricing(price) }),
    ...(capabilities === assumedCapabilities ? {} : describeAbilities(model, known)),
    ...(model.images === undefined ? {} : { images: describeImages(model.images) }),
    ...(known?.knowledge == null ? {} : { knowledge: known.knowledge }),
    ...(known === undefined ? {} : { deprecated: known.deprecated })
  }
}

function toPricing (price: Price): Model['pricing'] {
  const prices = {
    input: usdPerMillion(price.inputPico),
    output: usdPerMillion(price.outputPico),
    cache_read: usdPerMillion(price.cacheReadPico),
    cache_write: usdPerMillion(price.cacheWritePico),
    image: price.imageNano === null ? null : usdText(price.imageNano),
    second: price.secondNano === null ? null : usdText(price.secondNano)
  }
  return Object.fromEntries(Object.entries(prices).filter(([, text]) => text !== null))
}

/** A million tokens at a pico-USD are a thousand nano-USD. */
function usdPerMillion (pico: number | null): string | null {
  return pico === null ? null : usdText(pico * 1000)
}

function describeAbilities (
  { kind, capabilities }: ModelConfig, known: CatalogueModel | undefined
): Pick<Model, 'modalities' | 'capabilities'> {
  const { tools, jsonSchema, reasoning, streaming } = capabilities
  const own = kind === 'chat' ? 'text' as const : kind
  return {
    modalities: {
      input: ['text', ...mediaOf(capabilities), ...known?.input.includes('video') ? ['video'] : []],
      output: known?.kind === kind ? [...known.output] : [own]
    },
    capabilities: {
      tools,
      json_schema: jsonSchema,
      reasoning,
      streaming,
      ...(known?.temperature == null ? {} : { temperature: known.temperature })
    }
  }
}

function mediaOf ({ vision, audio, files }: Capabilities): string[] {
  const media = [vision && 'image', audio && 'audio', files && 'file']
  return media.filter(medium => medium !== false)
}
