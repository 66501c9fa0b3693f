import type { AlertSettings } from '../../../schemas/config/alerts.ts'
import type { ConsoleSettings } from '../../../schemas/config/console.ts'
import type { PolicyConfig } from '../../../schemas/config/config.ts'
import type { Known, Parsed } from '../../../schemas/config/fields.ts'
import type { ImagePrice, SizeRange } from '../../../schemas/config/images.ts'
import type { Capabilities, DeploymentPlacement, Domain, ModelEntry } from '../../../schemas/config/models.ts'
import type { ProviderConfig, TimeoutsMs } from '../../../schemas/config/providers.ts'
import type { BreakerConfig, RequestsConfig } from '../../../schemas/config/requests.ts'
import type { UsageSettings } from '../../../schemas/config/usage.ts'
import type { VideoAbilities, VideoSettings } from '../../../schemas/config/video.ts'

export type {
  BreakerConfig, Capabilities, Domain, ImagePrice, PolicyConfig, ProviderConfig, RequestsConfig, SizeRange,
  TimeoutsMs, UsageSettings, VideoAbilities, VideoSettings
}

/** What the gateway serves: the operator's file and the environment, checked and with defaults. */
export interface GatewayConfig {
  providers: ProviderConfig[]
  models: ModelConfig[]
  policies: PolicyConfig[]
  requests: RequestsConfig
  breaker: BreakerConfig
  video: VideoSettings
  usage: UsageSettings
  alerts: AlertSettings
  console: ConsoleSettings
}

/** Keys of the file that a model does not have, or has in another form. */
type Resolved = 'provider' | 'model' | 'deployments' | 'price' | 'cost' | 'capabilities' | 'images' | 'video' | 'quality'
type Fields = Known<Omit<Parsed<typeof ModelEntry>, Resolved>, 'kind' | 'ownedBy' | 'created'>
type Needed = 'id' | 'kind' | 'contextWindow' | 'maxOutput' | 'ownedBy' | 'created'

/** A model on offer. Null, or absent: not known. */
export interface ModelConfig extends Pick<Fields, Needed>, Partial<Omit<Fields, Needed>> {
  deployments: DeploymentConfig[]
  price: Price | null
  /** What the operator pays; absent or null: not known. */
  cost?: Price | null
  capabilities: Capabilities
  images?: ImageAbilities
  video?: VideoAbilities
  /** Expected share of good answers per domain, 0 to 1. */
  quality: Partial<Record<Domain, number>>
}

export interface DeploymentConfig extends DeploymentPlacement {
  /** Absent: the price of the model; null: not known, so the deployment is not used. */
  price?: Price | null
  /** Absent: the cost of the model. */
  cost?: Price
}

/** Integer pico-USD per token, integer nano-USD per image and per second of video. Null: not known. */
export interface Price {
  inputPico: number | null
  outputPico: number | null
  cacheReadPico: number | null
  cacheWritePico: number | null
  imageNano: number | null
  secondNano: number | null
  /** Tokens put into a cache for an hour; absent or null: see `hourCachePico`. */
  cacheWrite1hPico?: number | null
  /** Audio tokens; absent or null: the price of other tokens. */
  audioInputPico?: number | null
  audioOutputPico?: number | null
  /** Prices that replace those above for long prompts, in ascending order of length. */
  tiers?: readonly PriceTier[] | null
  /** Prices that replace those above at other service tiers. */
  serviceTiers?: readonly ServiceTierPrice[] | null
  /** One web search of the provider. */
  searchNano?: number | null
  /** Most searches of one answer; absent or null: 1. */
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

/** What an image model supports, and its prices. Null: not known, so the provider decides. */
export interface ImageAbilities {
  /** As `1024x1024`, the default first. If `sizeRange` is null too, nothing is known of sizes. */
  sizes: readonly string[] | null
  sizeRange: SizeRange | null
  /** The size of a request without one; null: the provider chooses. */
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
