import type { Model } from '../../schemas/openai/models.ts'
import { assumedCapabilities, catalogueModel, type CatalogueModel } from '../config/catalogue/models.ts'
import type {
  Capabilities, ImageAbilities, ImagePrice, ModelConfig, Price, ServiceTierPrice
} from '../config/catalogue/types.ts'
import { usdText } from '../shared/money.ts'

/** Describes a model for clients: OpenAI's fields with available prices, limits and capabilities. */
export function describeModel (model: ModelConfig): Model {
  const { id, kind, created, ownedBy, price, contextWindow, maxOutput, capabilities, images } = model
  const [first] = model.deployments
  const known = first && catalogueModel(first.provider, first.model)
  return present({
    id,
    object: 'model' as const,
    created,
    owned_by: ownedBy,
    kind,
    context_window: contextWindow,
    max_output_tokens: maxOutput,
    pricing: price && describePrice(price),
    ...(capabilities === assumedCapabilities ? {} : describeCapabilities(model, known)),
    images: images && describeImages(images),
    knowledge: known?.knowledge,
    deprecated: known?.deprecated
  })
}

function describePrice (price: Price) {
  return present({
    input: usdPerMillion(price.inputPico),
    output: usdPerMillion(price.outputPico),
    cache_read: usdPerMillion(price.cacheReadPico),
    cache_write: usdPerMillion(price.cacheWritePico),
    cache_write_1h: usdPerMillion(price.cacheWrite1hPico ?? null),
    image: price.imageNano === null ? null : usdText(price.imageNano),
    second: price.secondNano === null ? null : usdText(price.secondNano),
    search: price.searchNano == null ? null : usdText(price.searchNano),
    service_tiers: price.serviceTiers?.map(describeServiceTier)
  })
}

function describeServiceTier (tier: ServiceTierPrice) {
  const { name, inputPico, outputPico, cacheReadPico = null, cacheWritePico = null } = tier
  return present({
    name,
    input: usdText(inputPico * 1000),
    output: usdText(outputPico * 1000),
    cache_read: usdPerMillion(cacheReadPico),
    cache_write: usdPerMillion(cacheWritePico),
    cache_write_1h: usdPerMillion(tier.cacheWrite1hPico ?? null)
  })
}

/** 1 pico-USD per token is 1000 nano-USD per million tokens. */
function usdPerMillion (pico: number | null): string | null {
  return pico === null ? null : usdText(pico * 1000)
}

function describeCapabilities (
  { kind, capabilities }: ModelConfig, known: CatalogueModel | undefined
): Pick<Model, 'modalities' | 'capabilities'> {
  const { tools, jsonSchema, reasoning, streaming } = capabilities
  const output = kind === 'chat' ? 'text' as const : kind
  return {
    modalities: {
      input: ['text', ...inputMedia(capabilities), ...known?.input.includes('video') ? ['video'] : []],
      output: known?.kind === kind ? [...known.output] : [output]
    },
    capabilities: present({
      tools, json_schema: jsonSchema, reasoning, streaming, temperature: known?.temperature
    })
  }
}

function inputMedia ({ vision, audio, files }: Capabilities): string[] {
  return [vision && 'image', audio && 'audio', files && 'file'].filter(medium => medium !== false)
}

/** Sizes, qualities and prices of an image model, under the names of gateway.yaml. */
function describeImages ({ sizes, sizeRange, defaultSize, qualities, prices }: ImageAbilities) {
  return present({
    sizes: sizes && [...sizes],
    size_range: sizeRange && {
      min: sizeRange.min,
      max: sizeRange.max,
      multiple_of: sizeRange.multipleOf,
      max_ratio: sizeRange.maxRatio,
      max_pixels: sizeRange.maxPixels
    },
    default_size: defaultSize,
    qualities: qualities && [...qualities],
    prices: prices.length === 0 ? null : prices.map(describeImagePrice)
  })
}

function describeImagePrice ({ size, quality, imageNano, furtherMegapixelNano }: ImagePrice) {
  return present({
    size,
    quality,
    image: usdText(imageNano),
    further_megapixel: furtherMegapixelNano === 0 ? null : usdText(furtherMegapixelNano)
  })
}

type KeysWithValue<Fields> =
  { [Key in keyof Fields]: Extract<Fields[Key], null | undefined> extends never ? Key : never }[keyof Fields]

type Present<Fields> =
  Pick<Fields, KeysWithValue<Fields>> & { [Key in keyof Fields]?: NonNullable<Fields[Key]> }

function present<Fields extends object> (fields: Fields): Present<Fields>
function present (fields: object): unknown {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}
