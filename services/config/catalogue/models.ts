import { readFileSync } from 'node:fs'
import { defaultCreated, deploymentDefaults } from '../../../schemas/config/models.ts'
import type { ModelConfig, Price, VideoAbilities, Capabilities, ProviderConfig } from './types.ts'
import { knownProviders } from '../../../schemas/config/known-providers.ts'
import { familyCost } from './family-price.ts'
import { knownVideo, knownVideoModelNames, unknownVideo } from './videos.ts'
import { unknownRelease, type CatalogueFile, type CatalogueRow, type CatalogueTier, type Modality } from './catalogue-file.ts'
import { withImages, type RowWithImages } from './images.ts'
import { searchFeeOf } from './priced-fields.ts'

/** The catalogue's entry of a model. */
export interface CatalogueModel extends
  Pick<ModelConfig, 'price' | 'contextWindow' | 'maxOutput' | 'capabilities' | 'images' | 'created'> {
  /** Null if no endpoint of the gateway serves it. */
  kind: ModelConfig['kind'] | null
  input: readonly Modality[]
  output: readonly Modality[]
  /** The same as in `price`. */
  tiers: readonly CatalogueTier[]
  temperature: boolean | null
  /** Date of its latest training data, e.g. `2024-04`; null if unknown. */
  knowledge: string | null
  deprecated: boolean
  video?: VideoAbilities
}

/**
 * Returns the entry of a model by the provider's name for it. A name that ends in a date falls back to
 * the name without. No other similarity counts: a wrong price is worse than none. A model of another maker
 * has the maker's entry without its price.
 */
export function catalogueModel (provider: string, upstream: string): CatalogueModel | undefined {
  const row = rowOf(provider, upstream) ?? rowOfMaker(provider, upstream)
  const video = known.has(provider) ? videoOf(knownVideo(provider, upstream), row) : undefined
  if (video !== undefined) return { ...toModel(row ?? videoRow(video)), kind: 'video', video }
  if (row === undefined) return undefined
  const found = toModel(row)
  const searchNano = searchFeeOf(provider, upstream)
  if (found.price === null || searchNano === null) return found
  return { ...found, price: { ...found.price, searchNano } }
}

/** What a video model does, with its prices; undefined if it has neither. */
function videoOf (
  abilities: VideoAbilities | undefined, row: CatalogueRow | undefined
): VideoAbilities | undefined {
  const prices = row?.videoPrices?.map(one => ({ size: null, audio: null, ...one }))
  if (prices === undefined) return abilities
  const others = { ...unknownVideo, firstFrame: row?.input.includes('image') ?? null }
  return { ...abilities ?? others, prices }
}

function rowOf (provider: string, upstream: string): RowWithImages | undefined {
  const rows = rowsOf(provider)
  return rows.get(upstream) ?? rows.get(undatedName(upstream))
}

function rowOfMaker (provider: string, upstream: string): RowWithImages | undefined {
  const { makers = [] } = knownProviders.find(({ id }) => id === provider) ?? {}
  for (const maker of makers) {
    const { price, tiers, videoPrices, ...row } = rowOf(maker, upstream) ?? {}
    if ('kind' in row) return row
  }
  return undefined
}

function videoRow ({ firstFrame }: VideoAbilities): CatalogueRow {
  const input: Modality[] = firstFrame === true ? ['text', 'image'] : ['text']
  return { kind: 'video', input, output: ['video'], features: [], released: unknownRelease }
}

/** Returns a provider's names of the models that an endpoint serves, in the order of the data. */
export function catalogueModelNames (provider: string): string[] {
  const names = [...rowsOf(provider)].filter(([, { kind }]) => kind !== 'other').map(([name]) => name)
  return known.has(provider) ? [...new Set([...names, ...knownVideoModelNames(provider)])] : names
}

const date = /[-@]20\d\d(-?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])$/

/** The name of a model without the date of its version: `gpt-5` for `gpt-5-2025-08-07`. */
export function undatedName (name: string): string {
  return name.replace(date, '')
}

const known = new Set(knownProviders.map(({ id }) => id))
const none: ReadonlyMap<string, RowWithImages> = new Map()
let replacement: CatalogueFile | null = null
let loaded: ReadonlyMap<string, ReadonlyMap<string, RowWithImages>> | undefined

/** Loads the data on first use, and never for the sandbox or a local server. */
function rowsOf (provider: string): ReadonlyMap<string, RowWithImages> {
  if (!known.has(provider)) return none
  loaded ??= withImages(toRows(replacement ?? shippedCatalogue()))
  return loaded.get(provider) ?? none
}

/** The catalogue of this release, read from its file. */
export function shippedCatalogue (): CatalogueFile {
  return JSON.parse(readFileSync(new URL('models.json', import.meta.url), 'utf8'))
}

/** Replaces the catalogue for all gateways of this process; null returns to that of the release. */
export function replaceCatalogue (file: CatalogueFile | null): void {
  replacement = file
  loaded = undefined
}

function toRows ({ providers }: CatalogueFile): Map<string, Map<string, CatalogueRow>> {
  return new Map(Object.entries(providers).map(([id, models]) => [id, new Map(Object.entries(models))]))
}

function toModel (row: RowWithImages): CatalogueModel {
  const { kind, input, output, features, contextWindow = null, maxOutput = null, images } = row
  return {
    kind: kind === 'other' ? null : kind,
    input,
    output,
    price: toPrice(row),
    ...(images === undefined ? {} : { images }),
    tiers: row.tiers ?? [],
    contextWindow,
    maxOutput,
    capabilities: {
      tools: features.includes('tools'),
      vision: input.includes('image'),
      audio: input.includes('audio'),
      files: input.includes('file'),
      jsonSchema: features.includes('json_schema'),
      reasoning: features.includes('reasoning'),
      streaming: true
    },
    temperature: row.temperature ?? null,
    created: Date.parse(row.released) / 1000,
    knowledge: row.knowledge ?? null,
    deprecated: row.deprecated ?? false
  }
}

function toPrice ({ price, tiers, images }: RowWithImages): Price | null {
  const perImage = images?.prices.map(one => one.imageNano) ?? []
  const imageNano = perImage.length === 0 ? null : Math.max(...perImage)
  if (price === undefined && imageNano === null) return null
  return { ...emptyPrice, ...price, imageNano, ...(tiers && { tiers }) }
}

/** A price without any rates. */
export const emptyPrice: Price = {
  inputPico: null,
  outputPico: null,
  cacheReadPico: null,
  cacheWritePico: null,
  imageNano: null,
  secondNano: null
}

/** Capabilities of an unknown model: no request is rejected on a guess, the provider decides. */
export const assumedCapabilities: Capabilities = Object.freeze({
  tools: true,
  vision: true,
  audio: true,
  files: true,
  jsonSchema: true,
  reasoning: true,
  streaming: true
})

/** An unknown model is of the given kind, with all capabilities and without a price. */
export function modelFromCatalogue (
  provider: string, upstream: string, kind: ModelConfig['kind'] = 'chat'
): ModelConfig {
  const known = catalogueModel(provider, upstream)
  return {
    id: `${provider}/${upstream}`,
    kind: known?.kind ?? kind,
    deployments: [{ provider, model: upstream, ...deploymentDefaults }],
    price: known?.price ?? null,
    contextWindow: known?.contextWindow ?? null,
    maxOutput: known?.maxOutput ?? null,
    capabilities: known?.capabilities ?? assumedCapabilities,
    ...(known?.images === undefined ? {} : { images: known.images }),
    quality: {},
    ...(known?.video === undefined ? {} : { video: known.video }),
    ownedBy: provider,
    created: known?.created ?? defaultCreated
  }
}

/** A chat model without a price at the dearest price of its family, if that has one; any other as it is. */
export function withFamilyPrice (model: ModelConfig): ModelConfig {
  const [first] = model.deployments
  if (model.kind !== 'chat' || model.price !== null || first === undefined) return model
  const chat = [...rowsOf(first.provider)].flatMap(([name, row]) => row.kind === 'chat' ? [{ name, ...row }] : [])
  const cost = familyCost(first.model, chat)
  return cost === undefined ? model : { ...model, price: { ...emptyPrice, ...cost.price, tiers: cost.tiers ?? null }, priceBasis: 'family' }
}

/** The models of a provider until it has listed them. */
export function initialModelNames ({ id, discover }: Pick<ProviderConfig, 'id' | 'discover'>): string[] {
  const known = knownProviders.find((provider) => provider.id === id)
  // A provider with a server for each customer runs a selection of the models there.
  if (known === undefined || known.baseUrl === null) return []
  return discover || !known.discover ? catalogueModelNames(id) : []
}
