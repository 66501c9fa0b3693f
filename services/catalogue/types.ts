import type { Protocol } from '../../schemas/config/config.ts'

/** What the gateway serves: the operator's file and the environment, checked, with defaults filled in. */
export interface GatewayConfig {
  providers: ProviderConfig[]
  models: ModelConfig[]
  policies: PolicyConfig[]
  /** Absent: the defaults of schemas/config/config.ts. */
  requests?: RequestsConfig
  breaker?: BreakerConfig
  video?: VideoSettings
}

/** How hard the gateway tries to get an answer. */
export interface RequestsConfig {
  /** The longest a request may take, with all that is tried for it. */
  deadlineMs: number
  /** How often each deployment of a model is tried again. */
  retries: number
  /** The wait before a deployment is tried again; doubles each time. */
  backoffMs: number
  /** A deployment that asks to be left alone for longer is given up. */
  maxRetryAfterMs: number
  /** Whether a request is sent again that the provider may have worked on, and charged for. */
  retryUnsure: boolean
  /** How long to wait for one deployment before a second one is asked as well; null: never. */
  hedgeAfterMs: number | null
  /** Whether a fallback may cost more than the model that was asked for. */
  allowDearerFallbacks: boolean
}

/** When a deployment that fails is left alone, and for how long. */
export interface BreakerConfig {
  /** Failures in a row. */
  failures: number
  /** Share of the calls in a window that failed, 0 to 1, and how many calls it takes to say so. */
  errorRate: number
  minRequests: number
  windowMs: number
  /** The first time; twice as long each further time. */
  openMs: number
  /** How often providers are asked whether they are there; null: only requests tell. */
  probeEveryMs: number | null
}

export interface ProviderConfig {
  id: string
  /** Which file under services/providers speaks to it. */
  protocol: Protocol
  /** Name of a row in services/providers/openai/dialects.ts; only for the `openai` protocol. */
  dialect: string
  /** Without a trailing slash, e.g. `https://api.openai.com/v1`. Empty for the sandbox. */
  baseUrl: string
  apiKey: string | null
  headers: Record<string, string>
  timeouts: TimeoutsMs
  maxConnections: number
  /** Globs of bare model names that go to this provider when no model has that id, e.g. `gpt-*`. */
  claims: string[]
  /** Whether the upstream's own model list is fetched and offered as `<provider>/<model>`. */
  discover: boolean
  /** How long a video of the sandbox takes, in ms. */
  videoMs?: number | undefined
}

export interface TimeoutsMs { connectMs: number, firstByteMs: number, idleMs: number, totalMs: number }

export interface ModelConfig {
  /** The id clients send; may contain slashes. */
  id: string
  kind: 'chat' | 'image' | 'video'
  deployments: DeploymentConfig[]
  price: Price | null
  contextWindow: number | null
  maxOutput: number | null
  capabilities: Capabilities
  /** Of image models; absent where nothing is known. */
  images?: ImageAbilities
  /** Expected share of good answers per domain, 0 to 1. */
  quality: Partial<Record<Domain, number>>
  /** What to expect of its speed before anything was measured; absent: nothing is known. */
  speed?: { firstTokenMs: number, tokensPerSecond: number }
  /** Ids of models to try when this one cannot answer, in their order. */
  fallbacks?: string[]
  /** Only of video models; absent: nothing is known. */
  video?: VideoAbilities
  /** How long answers to deterministic requests are kept, in seconds; absent: only when a client wants it. */
  cacheSeconds?: number
  ownedBy: string
  /** Unix seconds. */
  created: number
}

/** `weight` is the share of the traffic among deployments of one priority; the lower priority goes first. */
export interface DeploymentConfig {
  provider: string
  model: string
  weight: number
  priority: number
  /** Absent: that of the model; null: nobody knows what it costs, so it is not used. */
  price?: Price | null
}

/**
 * Integer pico-USD per token, integer nano-USD per image and second of video. Null: the file says nothing.
 */
export interface Price {
  inputPico: number | null
  outputPico: number | null
  cacheReadPico: number | null
  cacheWritePico: number | null
  imageNano: number | null
  secondNano: number | null
  /** Tokens of audio in the prompt and in the answer; absent or null: they cost as much as others. */
  audioInputPico?: number | null
  audioOutputPico?: number | null
  /** What replaces the prices above for long prompts, shortest first. */
  tiers?: readonly PriceTier[]
}

/** What every token of a request costs once its prompt has more than `aboveTokens`. */
export interface PriceTier {
  aboveTokens: number
  inputPico: number
  outputPico: number
  cacheReadPico?: number
  cacheWritePico?: number
}

/** What an image model can do and what that costs. Null: not known, so that the provider decides. */
export interface ImageAbilities {
  /** As `1024x1024`, the usual one first. With `range` null too nothing is known of sizes. */
  sizes: readonly string[] | null
  sizeRange: SizeRange | null
  /** What is made when the client leaves the choice; null: the provider chooses. */
  defaultSize: string | null
  qualities: readonly string[] | null
  /** The first that fits holds; a size or quality of null fits any. */
  prices: readonly ImagePrice[]
  /** Most output tokens of one image, the first that fits; a size or quality of null fits any. */
  tokens: readonly ImageTokens[]
  /** Pico-USD per token of text written beside an image; null: as the image's own. */
  textOutputPico: number | null
}

/** Bounds in pixels; `maxRatio` is that of the longer side to the shorter. */
export interface SizeRange {
  min: number
  max: number
  multipleOf: number
  maxRatio: number
  maxPixels: number
}

/** Nano-USD per image, and for every megapixel (1024 × 1024) begun beyond the first. */
export interface ImagePrice {
  size: string | null
  quality: string | null
  imageNano: number
  furtherMegapixelNano: number
}

export interface ImageTokens { size: string | null, quality: string | null, tokens: number }

export interface Capabilities {
  tools: boolean
  vision: boolean
  audio: boolean
  files: boolean
  jsonSchema: boolean
  reasoning: boolean
  streaming: boolean
}

/** What a video model can do. Null: nothing is known. */
export interface VideoAbilities {
  seconds: number[] | null
  defaultSeconds: number | null
  maxSeconds: number | null
  /** As clients write them, e.g. `1280x720`. */
  sizes: string[] | null
  aspectRatios: string[] | null
  audio: boolean
  firstFrame: boolean | null
  lastFrame: boolean
  /** The first that fits counts; null fits everything. */
  prices: { size: string | null, audio: boolean | null, secondNano: number }[]
}

/** How requests for videos are held open, and their jobs worked on. */
export interface VideoSettings {
  heartbeat: boolean
  heartbeatAfterMs: number
  heartbeatEveryMs: number
  maxHoldMs: number
  content: 'url' | 'markdown' | 'html'
  onAmbiguous: 'fail' | 'resubmit'
  abandonAfterMs: number
  takeoverAfterMs: number
  pollsPerSecond: number
}

export type Domain = 'code' | 'math' | 'tools' | 'knowledge' | 'extraction' | 'chat' | 'multilingual' | 'long_context'

/** How `auto` or `auto:<name>` chooses; used by routing. */
export interface PolicyConfig {
  /** `auto`, `auto:cost`, `auto:quality`, `auto:speed`, or `auto:` and a name of the operator's. */
  id: string
  /** Public model ids the policy may choose from, as globs. */
  models: string[]
  /** Weight of cost and of latency against quality. Null: the policy's own default. */
  costWeight: number | null
  latencyWeight: number | null
  /** Highest price of one request, in nano-USD. */
  ceilingNano: number | null
}
