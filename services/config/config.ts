import type { Protocol } from '../../schemas/config.ts'

/** What the gateway serves: the operator's file and the environment, checked, with defaults filled in. */
export interface GatewayConfig {
  providers: ProviderConfig[]
  models: ModelConfig[]
  policies: PolicyConfig[]
}

export interface ProviderConfig {
  id: string
  /** Which file under services/providers speaks to it. */
  protocol: Protocol
  /** Name of a row in services/providers/dialects.ts; only for the `openai` protocol. */
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
}

export interface TimeoutsMs { connect: number, firstByte: number, idle: number, total: number }

export interface ModelConfig {
  /** The id clients send; may contain slashes. */
  id: string
  kind: 'chat' | 'image' | 'video'
  deployments: DeploymentConfig[]
  price: Price | null
  contextWindow: number | null
  maxOutput: number | null
  capabilities: Capabilities
  /** Expected share of good answers per domain, 0 to 1. */
  quality: Partial<Record<Domain, number>>
  ownedBy: string
  /** Unix seconds. */
  created: number
}

export interface DeploymentConfig { provider: string, model: string, weight: number, priority: number }

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
}

export interface Capabilities {
  tools: boolean
  vision: boolean
  audio: boolean
  files: boolean
  jsonSchema: boolean
  reasoning: boolean
  streaming: boolean
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
