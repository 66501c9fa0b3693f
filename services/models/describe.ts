import type { Model } from '../../schemas/openai/models.ts'
import { assumedCapabilities, catalogueModel, type CatalogueModel } from '../config/catalogue/models.ts'
import type {
  Capabilities, ImageAbilities, ImagePrice, ModelConfig, Price, ServiceTierPrice, VideoAbilities
} from '../config/catalogue/types.ts'
import { usdText } from '../shared/money.ts'
import { clientFields, clientPricing, type Modalities } from './client-fields.ts'

/** Describes a model for clients: OpenAI's fields with available prices, limits and capabilities. */
export function describeModel (model: ModelConfig): Model {
  const { id, kind, created, ownedBy, price, contextWindow, maxOutput, capabilities, images, video } = model
  const [first] = model.deployments
  const known = first && catalogueModel(first.provider, first.model)
  const isAssumed = capabilities === assumedCapabilities
  const modalities = isAssumed ? textOnly(kind) : modalitiesOf(model, known)
  const described = present({
    id,
    object: 'model' as const,
    created,
    owned_by: ownedBy,
    kind,
    context_window: contextWindow,
    max_output_tokens: maxOutput,
    pricing_basis: model.priceBasis,
    modalities: isAssumed ? null : modalities,
    capabilities: isAssumed ? null : describeCapabilities(model, known),
    images: images && describeImages(images),
    video: video && describeVideo(video),
    knowledge: known?.knowledge,
    deprecated: known?.deprecated
  })
  return {
    ...described,
    ...clientFields(model, known, modalities),
    pricing: { ...(price && describePrice(price)), ...clientPricing(model) }
  }
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

function describeCapabilities ({ kind, capabilities }: ModelConfig, known: CatalogueModel | undefined) {
  const { tools, jsonSchema, reasoning, streaming } = capabilities
  const streams = streaming && kind === 'chat'
  const temperature = known?.temperature
  return present({ tools, json_schema: jsonSchema, reasoning, streaming: streams, temperature })
}

function modalitiesOf ({ kind, capabilities }: ModelConfig, known: CatalogueModel | undefined): Modalities {
  return {
    input: ['text', ...inputMedia(capabilities), ...known?.input.includes('video') ? ['video'] : []],
    output: known?.kind === kind ? [...known.output] : textOnly(kind).output
  }
}

/** The media of a model whose capabilities are unknown. */
function textOnly (kind: ModelConfig['kind']): Modalities {
  return { input: ['text'], output: [kind === 'chat' ? 'text' : kind] }
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

/** Lengths, sizes, frames and prices of a video model, under the names of gateway.yaml. */
function describeVideo (video: VideoAbilities) {
  return present({
    seconds: video.seconds,
    default_seconds: video.defaultSeconds,
    max_seconds: video.maxSeconds,
    sizes: video.sizes,
    default_size: video.defaultSize,
    aspect_ratios: video.aspectRatios,
    audio: video.audio,
    default_audio: video.defaultAudio,
    first_frame: video.firstFrame,
    last_frame: video.lastFrame,
    prices: video.prices.length === 0 ? null : video.prices.map(describeVideoPrice)
  })
}

function describeVideoPrice ({ size, audio, secondNano }: VideoAbilities['prices'][number]) {
  return present({ size, audio, second: usdText(secondNano) })
}

type KeysWithValue<Fields> =
  { [Key in keyof Fields]: Extract<Fields[Key], null | undefined> extends never ? Key : never }[keyof Fields]

type Present<Fields> =
  Pick<Fields, KeysWithValue<Fields>> & { [Key in keyof Fields]?: NonNullable<Fields[Key]> }

function present<Fields extends object> (fields: Fields): Present<Fields>
function present (fields: object): unknown {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}
