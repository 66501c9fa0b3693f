import { defaultCreated } from '../../../schemas/config/models.ts'

/** models.json: models by provider and by its name for them. Written by tools/catalogue/refresh.ts. */
export interface CatalogueFile {
  source: string
  license: string
  /** Date of the source's data, as `2026-07-02`. */
  date: string
  units: string
  /** Where prices are from, by the id in the rows. */
  sources?: Record<string, CatalogueSource>
  providers: Record<string, Record<string, CatalogueRow>>
}

/** A table of prices, with the date of its data. */
export interface CatalogueSource { name: string, version: string, date: string, license: string }

/** One model of one provider. Members are absent if the source does not have them. */
export interface CatalogueRow {
  /** `other`: no endpoint serves the model, e.g. embeddings, speech, ranking. */
  kind: 'chat' | 'image' | 'video' | 'other'
  input: Modality[]
  output: Modality[]
  features: Feature[]
  temperature?: boolean
  contextWindow?: number
  maxOutput?: number
  price?: CataloguePrice
  tiers?: CatalogueTier[]
  /** Prices of videos by size and audio; the first match applies. */
  videoPrices?: CatalogueVideoPrice[]
  /** Prices of images by size and quality; the first match applies. */
  imagePrices?: CatalogueImagePrice[]
  /** The id of the source of the price. */
  from?: string
  /** Year, month and usually day. */
  released: string
  /** Date of the latest training data: year, usually month, sometimes day. */
  knowledge?: string
  deprecated?: true
}

export type Modality = 'text' | 'image' | 'audio' | 'video' | 'file'

export type Feature = 'tools' | 'json_schema' | 'reasoning'

/** Integer pico-USD per token. */
export interface CataloguePrice {
  inputPico: number
  outputPico: number
  cacheReadPico?: number
  cacheWritePico?: number
  cacheWrite1hPico?: number
  audioInputPico?: number
  audioOutputPico?: number
}

/** Prices of all tokens of a request whose prompt has more than `aboveTokens`. */
export interface CatalogueTier extends Omit<CataloguePrice, 'audioInputPico' | 'audioOutputPico'> {
  aboveTokens: number
}

/** Nano-USD per second; any size, or with and without audio, if absent. */
export interface CatalogueVideoPrice { size?: string, audio?: boolean, secondNano: number }

/** Nano-USD per image, and per further megapixel that has begun; any size or quality if absent. */
export interface CatalogueImagePrice {
  size?: string
  quality?: string
  imageNano: number
  furtherMegapixelNano?: number
}

/** The release date of a model that has none in any source. */
export const unknownRelease = new Date(defaultCreated * 1000).toISOString()
