import { readFileSync } from 'node:fs'
import type { ImageAbilities, ImageTokens, SizeRange } from './types.ts'
import type { CataloguePrice, CatalogueRow } from './catalogue-file.ts'

/** The data file: per provider, by the model's name there. Kept by hand; models.json knows no images. */
interface ImageCatalogueFile {
  providers: Record<string, { models: Record<string, ImageRow> }>
}

/** One model. What is absent is not known, or as models.json says. */
interface ImageRow {
  /** Only for models that models.json does not know. */
  released?: string
  sizes?: string[]
  sizeRange?: SizeRange
  defaultSize?: string
  qualities?: string[]
  tokens?: (Pick<ImageTokens, 'tokens'> & Partial<ImageTokens>)[]
  price?: CataloguePrice
  /** Price per token of an image, where models.json has only that of text. */
  outputPico?: number
  textOutputPico?: number
  /** Its price in models.json is not that of its images. */
  unpriced?: true
}

/** A row of the catalogue with what is known of images. */
export interface RowWithImages extends CatalogueRow { images?: ImageAbilities }

type Rows = ReadonlyMap<string, ReadonlyMap<string, CatalogueRow>>

/** Adds what is known of image models to the rows of the catalogue, by provider and name. */
export function withImages (rows: Rows): Map<string, Map<string, RowWithImages>> {
  const joined = new Map<string, Map<string, RowWithImages>>()
  for (const [provider, models] of rows) joined.set(provider, new Map(models))
  for (const [provider, { models }] of Object.entries(load().providers)) {
    const known = joined.get(provider) ?? new Map<string, RowWithImages>()
    for (const [name, row] of Object.entries(models)) known.set(name, join(known.get(name), row))
    joined.set(provider, known)
  }
  return joined
}

function load (): ImageCatalogueFile {
  return JSON.parse(readFileSync(new URL('images.json', import.meta.url), 'utf8'))
}

function join (known: CatalogueRow | undefined, row: ImageRow): RowWithImages {
  const base = known ?? unlisted(row)
  const { price, ...rest } = base
  const inUse = row.unpriced === true ? undefined : row.price ?? price
  const ofImages = inUse && row.outputPico !== undefined ? { ...inUse, outputPico: row.outputPico } : inUse
  const spoken = row.outputPico === undefined ? null : inUse?.outputPico ?? null
  const textOutputPico = row.textOutputPico ?? spoken
  return {
    ...rest,
    kind: 'image',
    ...(ofImages === undefined ? {} : { price: ofImages }),
    images: {
      sizes: row.sizes ?? null,
      sizeRange: row.sizeRange ?? null,
      defaultSize: row.defaultSize ?? null,
      qualities: row.qualities ?? null,
      // No source at hand tells prices per image: the operator sets them.
      prices: [],
      tokens: (row.tokens ?? []).map(one => ({ size: null, quality: null, ...one })),
      textOutputPico
    }
  }
}

function unlisted ({ released = '' }: ImageRow): CatalogueRow {
  return { kind: 'image', input: ['text'], output: ['image'], features: [], released }
}
