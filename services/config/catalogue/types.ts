import type { AlertSettings } from '../../../schemas/config/alerts.ts'
import type { CatalogueSettings } from '../../../schemas/config/catalogue.ts'
import type { ConsoleSettings } from '../../../schemas/config/console.ts'
import type { PolicyConfig } from '../../../schemas/config/config.ts'
import type { Known, Parsed } from '../../../schemas/config/fields.ts'
import type { ImagePrice, SizeRange } from '../../../schemas/config/images.ts'
import type { Capabilities, DeploymentPlacement, Domain, ModelEntry } from '../../../schemas/config/models.ts'
import type { PluginConfig } from '../../../schemas/config/plugins.ts'
import type { ProviderConfig, TimeoutsMs } from '../../../schemas/config/providers.ts'
import type { BreakerConfig, RequestsConfig } from '../../../schemas/config/requests.ts'
import type { UsageSettings } from '../../../schemas/config/usage.ts'
import type { Problem } from '../config-error.ts'
import type { VideoAbilities, VideoSettings } from '../../../schemas/config/video.ts'

export type {
  BreakerConfig, Capabilities, Domain, ImagePrice, PluginConfig, PolicyConfig, ProviderConfig, RequestsConfig,
  SizeRange, TimeoutsMs, UsageSettings, VideoAbilities, VideoSettings
}

/** The configuration: the operator's file and the environment, checked and with defaults. */
export interface GatewayConfig {
  providers: ProviderConfig[]
  models: ModelConfig[]
  policies: PolicyConfig[]
  aliases: readonly AliasConfig[]
  /** The plugins to load at the start; absent: none. */
  plugins?: readonly PluginConfig[]
  requests: RequestsConfig
  breaker: BreakerConfig
  video: VideoSettings
  usage: UsageSettings
  alerts: AlertSettings
  console: ConsoleSettings
  /** Where the catalogue is refreshed from; absent: nowhere. */
  catalogue?: CatalogueSettings
  /** What happens to chat models without a price: absent is `refuse`. */
  unpriced?: 'refuse' | 'family'
  /** Variables of providers that the file does not list, and why these providers are left out. */
  ignored?: readonly Problem[]
}

/** A name with `*` for any text that stands for a model or policy. */
export interface AliasConfig { pattern: string, model: string }

/** Keys of the file that a model lacks, or has in another form. */
type Resolved = 'provider' | 'model' | 'deployments' | 'price' | 'cost' | 'capabilities' | 'images' | 'video' | 'quality'
type Fields = Known<Omit<Parsed<typeof ModelEntry>, Resolved>, 'kind' | 'ownedBy' | 'created'>
type Needed = 'id' | 'kind' | 'contextWindow' | 'maxOutput' | 'ownedBy' | 'created'

/** An available model. Null or absent members are unknown. */
export interface ModelConfig extends Pick<Fields, Needed>, Partial<Omit<Fields, Needed>> {
  deployments: DeploymentConfig[]
  price: Price | null
  /** `family`: the dearest price of its family, because it has none. */
  priceBasis?: 'family'
  /** The operator's cost; absent or null if unknown. */
  cost?: Price | null
  capabilities: Capabilities
  images?: ImageAbilities
  video?: VideoAbilities
  /** Expected share of good responses per domain, 0 to 1. */
  quality: Partial<Record<Domain, number>>
}

export interface DeploymentConfig extends DeploymentPlacement {
  /** Absent applies the price of the model. Null is unknown, so the deployment is not used. */
  price?: Price | null
  /** Absent applies the cost of the model. */
  cost?: Price
}

/** Integer pico-USD per token, integer nano-USD per image and per second of video; null if unknown. */
export interface Price {
  inputPico: number | null
  outputPico: number | null
  cacheReadPico: number | null
  cacheWritePico: number | null
  imageNano: number | null
  secondNano: number | null
  /** Tokens cached for an hour; `hourCachePico` has the default. */
  cacheWrite1hPico?: number | null
  /** Audio tokens; the default is the price of other tokens. */
  audioInputPico?: number | null
  audioOutputPico?: number | null
  /** Prices for long prompts, in ascending order of length. */
  tiers?: readonly PriceTier[] | null
  /** Prices of other service tiers. */
  serviceTiers?: readonly ServiceTierPrice[] | null
  /** Price of one web search of the provider. */
  searchNano?: number | null
  /** Most searches per response; 1 by default. */
  maxSearches?: number | null
}

/** Prices at one service tier. */
export interface ServiceTierPrice extends Omit<PriceTier, 'aboveTokens'> {
  name: string
  tiers?: readonly PriceTier[] | null
}

/** Prices of all tokens of a request whose prompt has more than `aboveTokens`. */
export interface PriceTier {
  aboveTokens: number
  inputPico: number
  outputPico: number
  cacheReadPico?: number | null
  cacheWritePico?: number | null
  cacheWrite1hPico?: number | null
}

/** Capabilities and prices of an image model. Null is unknown, so the provider decides. */
export interface ImageAbilities {
  /** Sizes such as `1024x1024`, the default first. If `sizeRange` is null too, sizes are unknown. */
  sizes: readonly string[] | null
  sizeRange: SizeRange | null
  /** The size of a request without one; null lets the provider choose. */
  defaultSize: string | null
  qualities: readonly string[] | null
  /** The first match applies; a size or quality of null matches any. */
  prices: readonly ImagePrice[]
  /** Most output tokens of one image, the first match; a size or quality of null matches any. */
  tokens: readonly ImageTokens[]
  /** Pico-USD per token of text in the response; null: the price of image tokens. */
  textOutputPico: number | null
}

export interface ImageTokens { size: string | null, quality: string | null, tokens: number }
