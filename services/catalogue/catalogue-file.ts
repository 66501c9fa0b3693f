/** The data file: per provider, by the model's name there. Written by tools/catalogue/refresh.ts. */
export interface CatalogueFile {
  source: string
  license: string
  /** When the source said so, as `2026-07-02`. */
  date: string
  units: string
  providers: Record<string, Record<string, CatalogueRow>>
}

/** One model of one provider. What is absent the source does not tell. */
export interface CatalogueRow {
  /** `other` is what no endpoint of the gateway serves: embeddings, speech, ranking. */
  kind: 'chat' | 'image' | 'video' | 'other'
  input: Modality[]
  output: Modality[]
  features: Feature[]
  /** Whether requests may set a temperature. */
  temperature?: boolean
  contextWindow?: number
  maxOutput?: number
  price?: CataloguePrice
  tiers?: CatalogueTier[]
  /** Year, month and mostly day. */
  released: string
  /** How far the model's knowledge reaches: year, mostly month, at times day. */
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
  /** What tokens of audio cost where that is another price. */
  audioInputPico?: number
  audioOutputPico?: number
}

/** Prices of all tokens of a request whose prompt has more than `aboveTokens`. */
export interface CatalogueTier extends Omit<CataloguePrice, 'audioInputPico' | 'audioOutputPico'> {
  aboveTokens: number
}
