import { readFileSync } from 'node:fs'
import type { ImageAbilities, ImageTokens, SizeRange } from './types.ts'
import { unknownRelease, type CataloguePrice, type CatalogueRow } from './catalogue-file.ts'

/** images.json: models by provider and name. Maintained by hand. */
interface ImageCatalogueFile { providers: Record<string, { models: Record<string, ImageRow> }> }

/** One model. Absent members are unknown, or as in models.json. */
interface ImageRow {
  /** Only for models that are not in models.json; absent there: unknown. */
  released?: string
  sizes?: string[]
  sizeRange?: SizeRange
  defaultSize?: string
  qualities?: string[]
  tokens?: (Pick<ImageTokens, 'tokens'> & Partial<ImageTokens>)[]
  price?: CataloguePrice
  /** Price of image tokens, if models.json has only the price of text. */
  outputPico?: number
  textOutputPico?: number
  /** The price in models.json does not apply to images. */
  unpriced?: true
}

/** An unknown image model. */
export const unknownImages: ImageAbilities = {
  sizes: null,
  sizeRange: null,
  defaultSize: null,
  qualities: null,
  prices: [],
  tokens: [],
  textOutputPico: null
}

export interface RowWithImages extends CatalogueRow { images?: ImageAbilities }

type Rows = ReadonlyMap<string, ReadonlyMap<string, CatalogueRow>>

/** Adds images.json to the rows of models.json. */
export function withImages (rows: Rows): Map<string, Map<string, RowWithImages>> {
  const joined = new Map<string, Map<string, RowWithImages>>()
  for (const [provider, models] of rows) {
    const rows = [...models].map(([name, row]) => [name, row.imagePrices ? join(row, {}) : row] as const)
    joined.set(provider, new Map(rows))
  }
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
  const listed = row.unpriced === true ? undefined : row.price ?? price
  const imagePrice = listed && { ...listed, outputPico: row.outputPico ?? listed.outputPico }
  const listedTextPico = row.outputPico === undefined ? null : listed?.outputPico ?? null
  const textOutputPico = row.textOutputPico ?? listedTextPico
  return {
    ...rest,
    kind: 'image',
    ...(imagePrice === undefined ? {} : { price: imagePrice }),
    images: {
      sizes: row.sizes ?? null,
      sizeRange: row.sizeRange ?? null,
      defaultSize: row.defaultSize ?? null,
      qualities: row.qualities ?? null,
      prices: base.imagePrices?.map(one => ({ ...anyImage, ...one })) ?? [],
      tokens: (row.tokens ?? []).map(one => ({ size: null, quality: null, ...one })),
      textOutputPico
    }
  }
}

const anyImage = { size: null, quality: null, furtherMegapixelNano: 0 }

function unlisted ({ released = unknownRelease }: ImageRow): CatalogueRow {
  return { kind: 'image', input: ['text'], output: ['image'], features: [], released }
}
