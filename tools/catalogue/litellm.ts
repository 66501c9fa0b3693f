import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type {
  CatalogueImagePrice, CataloguePrice, CatalogueRow, CatalogueTier, Feature, Modality
} from '../../services/config/catalogue/catalogue-file.ts'
import { declaredImages } from '../../services/providers/fal/image-fields.ts'
import { exactPico, keepDigits } from './digits.ts'
import { imagePricesOf, imageVariant, videoPricesOf, type MediaPrices } from './media-prices.ts'
import { releasedBy, type Source } from './merge.ts'

/** The provider here of each provider there, with the prefix of its names. */
const providers: Readonly<Record<string, { id: string, prefix: string }>> = {
  openai: { id: 'openai', prefix: '' },
  anthropic: { id: 'anthropic', prefix: '' },
  azure: { id: 'azure', prefix: 'azure/' },
  black_forest_labs: { id: 'bfl', prefix: 'black_forest_labs/' },
  bedrock: { id: 'bedrock', prefix: '' },
  bedrock_converse: { id: 'bedrock', prefix: '' },
  cerebras: { id: 'cerebras', prefix: 'cerebras/' },
  deepinfra: { id: 'deepinfra', prefix: 'deepinfra/' },
  deepseek: { id: 'deepseek', prefix: 'deepseek/' },
  fal_ai: { id: 'fal', prefix: 'fal_ai/' },
  fireworks_ai: { id: 'fireworks', prefix: 'fireworks_ai/' },
  gemini: { id: 'gemini', prefix: 'gemini/' },
  groq: { id: 'groq', prefix: 'groq/' },
  minimax: { id: 'minimax', prefix: 'minimax/' },
  mistral: { id: 'mistral', prefix: 'mistral/' },
  moonshot: { id: 'moonshot', prefix: 'moonshot/' },
  // Alibaba's service in Singapore, which has the default base URL.
  qwencloud: { id: 'wan', prefix: 'qwencloud/' },
  runwayml: { id: 'runway', prefix: 'runwayml/' },
  together_ai: { id: 'together', prefix: 'together_ai/' },
  xai: { id: 'xai', prefix: 'xai/' }
}

/** The kind of each mode; all others have no endpoint here. */
const kinds: Readonly<Record<string, CatalogueRow['kind']>> = {
  chat: 'chat', responses: 'chat', image_generation: 'image', image_edit: 'image', video_generation: 'video'
}

const row = Type.Object({
  litellm_provider: Type.String(),
  mode: Type.String(),
  deprecation_date: Type.Optional(Type.String())
}, { additionalProperties: true })
type Row = Static<typeof row>
type Fields = Readonly<Record<string, unknown>>

/**
 * Reads the price table of the package litellm on PyPI, `model_prices_and_context_window_backup.json`. Models
 * that were shut down before `date` are left out. Prices are parsed from their digits, never rounded.
 */
export function readLitellm (text: string, version: string, date: string): Source {
  const file: unknown = JSON.parse(text, keepDigits)
  const table = Type.Record(Type.String(), Type.Unknown())
  if (!Value.Check(table, file)) throw new TypeError('The table of litellm is not an object.')
  const found: Source['providers'] = {}
  const notes: string[] = []
  const variants = imageVariantsIn(file)
  for (const [key, value] of Object.entries(file)) {
    if (!Value.Check(row, value) || (value.deprecation_date ?? date) < date) continue
    const provider = providers[value.litellm_provider]
    if (provider === undefined || !key.startsWith(provider.prefix)) continue
    const name = key.slice(provider.prefix.length)
    if (isVariant(provider.id, name)) continue
    const media = mediaPricesOf(provider.id, name, value, variants.get(key) ?? [])
    const facts = toRow(value, releasedBy(name, date), note => notes.push(`${provider.id}/${name}: ${note}`))
    const read = { ...facts, ...media }
    if (!isSellable(provider.id, name, read)) continue
    const rows = found[provider.id] ??= {}
    rows[name] = read
  }
  return { id: 'litellm', name: 'litellm on PyPI', version, date, license: 'MIT', providers: found, notes }
}

/** The prices of one quality and size, by the key of their model. */
function imageVariantsIn (file: Record<string, unknown>): Map<string, CatalogueImagePrice[]> {
  const variants = new Map<string, CatalogueImagePrice[]>()
  const { prefix } = providers.fal_ai ?? { prefix: '' }
  for (const [key, value] of Object.entries(file)) {
    if (!key.startsWith(prefix)) continue
    const variant = imageVariant(key.slice(prefix.length), Object(value))
    if (variant === undefined) continue
    const model = prefix + variant.model
    variants.set(model, [...variants.get(model) ?? [], variant.price])
  }
  return variants
}

function mediaPricesOf (
  provider: string, name: string, row: Row, variants: readonly CatalogueImagePrice[]
): MediaPrices {
  const kind = kinds[row.mode]
  if (kind === 'video') return videoPricesOf(row)
  return kind === 'image' ? imagePricesOf(provider, name, row, variants) : {}
}

/** Endpoints that take a picture or a video to change, or make solids. */
const edits = /(^|\/)(edit|reframe|recast|redux|(video|reference)-to-video|trellis.*|aleph\d?)$|-(r2v|depth|fill|expand)$/
const mediaProviders: ReadonlySet<string> = new Set(['bfl', 'fal', 'minimax', 'runway', 'wan'])

/** Bedrock's models that take no conversations, and spellings of other clouds. */
const legacy = /@|claude-(v\d|instant|3-)|titan|ai21\.|cohere\.command-(light|text)|llama2|embed|rerank|sonic|pegasus/

/** Whether the gateway can sell a row: a chat has a price, and a provider of media alone no chats. */
function isSellable (
  provider: string, name: string, { kind, price, videoPrices, imagePrices }: CatalogueRow
): boolean {
  if (!mediaProviders.has(provider)) return kind !== 'chat' || price !== undefined
  // Of an image model whose fields are unknown, the size of an image may not be the one that was priced.
  if (provider === 'fal' && kind === 'image' && !declaredImages().includes(name)) return false
  return (videoPrices !== undefined || imagePrices !== undefined) && !edits.test(name)
}

/** Prices of one size, region or class of parameters, which are not names of models. */
function isVariant (provider: string, name: string): boolean {
  if (/\d-x-\d/.test(name)) return true
  const isPath = ['openai', 'anthropic', 'azure', 'bedrock', 'deepseek', 'gemini', 'xai', 'mistral'].includes(provider)
  if (provider === 'bedrock' && legacy.test(name)) return true
  return (isPath && name.includes('/')) || name.startsWith('ft:') || /^(together|fireworks)-ai-/.test(name)
}

function toRow (row: Row, released: string, note: (text: string) => void): CatalogueRow {
  const fields: Fields = row
  const kind = kinds[row.mode] ?? 'other'
  const price = kind === 'chat' ? priceOf(fields, '', note) : undefined
  const media: Modality[] = ['text']
  const takesPictures = kind === 'video' && takesImages(fields)
  if (fields.supports_vision === true || takesPictures) media.push('image')
  if (fields.supports_audio_input === true) media.push('audio')
  if (fields.supports_video_input === true) media.push('video')
  if (fields.supports_pdf_input === true) media.push('file')
  const contextWindow = count(fields.max_input_tokens)
  const maxOutput = count(fields.max_output_tokens)
  return {
    kind,
    input: media,
    output: [kind === 'image' || kind === 'video' ? kind : 'text'],
    features: (['tools', 'json_schema', 'reasoning'] as const).filter(feature => fields[flags[feature]] === true),
    ...(fields.supports_sampling_params === false && { temperature: false }),
    ...(contextWindow && { contextWindow }),
    ...(maxOutput && { maxOutput }),
    ...(price && { price, ...tiersOf(fields, note) }),
    released
  }
}

function takesImages ({ supported_modalities: media }: Fields): boolean {
  return Array.isArray(media) && media.includes('image')
}

const flags: Readonly<Record<Feature, string>> = {
  tools: 'supports_function_calling', json_schema: 'supports_response_schema', reasoning: 'supports_reasoning'
}

/** The rates with an ending, such as `_above_272k_tokens`; undefined without exact main rates. */
function priceOf (
  fields: Fields, ending: string, note: (text: string) => void
): CataloguePrice | undefined {
  const rate = (name: string): number | undefined => {
    const digits = fields[`${name}${ending}`]
    const pico = exactPico(digits, 6)
    if (digits !== undefined && pico === undefined) note(`${name}${ending} is not exact: ${String(digits)}`)
    return pico
  }
  const inputPico = rate('input_cost_per_token')
  const outputPico = rate('output_cost_per_token')
  if (inputPico === undefined || outputPico === undefined) return undefined
  const isOutputMissing = outputPico === 0 && inputPico > 0
  const hasOtherCosts = ['input_cost_per_request', 'citation_cost_per_token'].some(name => name in fields)
  const reasoningPico = rate('output_cost_per_reasoning_token') ?? outputPico
  if (isOutputMissing || hasOtherCosts || reasoningPico !== outputPico) {
    note('price omitted: it does not cover everything a request can use')
    return undefined
  }
  const rates = {
    cacheReadPico: rate('cache_read_input_token_cost'),
    cacheWritePico: rate('cache_creation_input_token_cost'),
    audioInputPico: rate('input_cost_per_audio_token'),
    audioOutputPico: rate('output_cost_per_audio_token')
  }
  return { inputPico, outputPico, ...withoutEmpty(rates) }
}

function withoutEmpty (rates: Partial<CataloguePrice>): Partial<CataloguePrice> {
  return Object.fromEntries(Object.entries(rates).filter(([, pico]) => pico !== undefined))
}

function tiersOf (fields: Fields, note: (text: string) => void): { tiers?: CatalogueTier[] } {
  const tiers = Object.keys(fields).flatMap((key): CatalogueTier[] => {
    const thousands = /^input_cost_per_token_above_(\d+)k_tokens$/.exec(key)?.[1]
    if (thousands === undefined) return []
    const price = priceOf(fields, `_above_${thousands}k_tokens`, note)
    if (price === undefined) return []
    const { audioInputPico, audioOutputPico, ...rates } = price
    return [{ aboveTokens: Number(thousands) * 1000, ...rates }]
  })
  if (tiers.length === 0) return {}
  return { tiers: tiers.toSorted((one, other) => one.aboveTokens - other.aboveTokens) }
}

function count (value: unknown): number | undefined {
  const tokens = Number(value)
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : undefined
}
