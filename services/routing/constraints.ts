import type { ModelConfig } from '../catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import type { RequestFeatures } from './request-features.ts'

/** Messages to the client, each after the name of the model that the constraint removed. */
const constraintMessages = {
  unknown: 'is not available here',
  kind: 'is not a chat model',
  policy: 'is not on the list of this policy',
  key: 'is not allowed for this key',
  price: 'has no price',
  health: 'is failing at the moment',
  context_window: 'has a context window too small for this conversation',
  max_output: 'cannot write as many tokens as requested',
  vision: 'cannot read images',
  audio: 'cannot process audio',
  files: 'cannot read files',
  tools: 'cannot call tools',
  json_schema: 'cannot follow a JSON schema',
  streaming: 'cannot stream',
  ceiling: 'may cost more than this policy allows for a request',
  credit: 'costs more than the remaining credit'
} as const

/** Why a model cannot take a request. */
export type RoutingConstraint = keyof typeof constraintMessages

/** A model that cannot take the request, and the first constraint that it violates. */
export interface Exclusion { model: string, constraint: RoutingConstraint }

/** What the policy, the key and the health of deployments allow. */
export interface RoutingPermissions {
  policy: { allows (model: string): boolean }
  mayUse (model: string): boolean
  isHealthy (model: ModelConfig): boolean
}

/** Tokens assumed for a model whose context window is unknown. */
const assumedWindow = 8192
/** Tokens that must be left for an answer when the client sets no limit. */
const minAnswerTokens = 256

/**
 * The first constraint that a model violates, except those that depend on the cost; null if there is none.
 */
export function violatedConstraint (
  model: ModelConfig, request: RequestFeatures, { policy, mayUse, isHealthy }: RoutingPermissions
): RoutingConstraint | null {
  const { id, kind } = model
  if (kind !== 'chat') return 'kind'
  if (!policy.allows(id)) return 'policy'
  if (!mayUse(id)) return 'key'
  return missingCapability(model, request) ?? (isHealthy(model) ? null : 'health')
}

function missingCapability (
  { capabilities, contextWindow, maxOutput }: ModelConfig, request: RequestFeatures
): RoutingConstraint | null {
  const { maxTokens, promptTokens } = request
  if (promptTokens + (maxTokens ?? minAnswerTokens) > (contextWindow ?? assumedWindow)) return 'context_window'
  if (maxOutput !== null && maxTokens !== null && maxTokens > maxOutput) return 'max_output'
  if (request.images > 0 && !capabilities.vision) return 'vision'
  if ((request.audios > 0 || request.wantsAudio) && !capabilities.audio) return 'audio'
  if (request.files > 0 && !capabilities.files) return 'files'
  if ((request.tools > 0 || request.inToolLoop) && !capabilities.tools) return 'tools'
  if (request.wantsSchema && !capabilities.jsonSchema) return 'json_schema'
  return request.wantsStream && !capabilities.streaming ? 'streaming' : null
}

const maxNamed = 20

/** Returns a 400 that names the constraint which removed each model. */
export function noModelQualifies (policy: string, excluded: readonly Exclusion[]): GatewayError {
  const named = excluded.slice(0, maxNamed)
    .map(({ model, constraint }) => `\`${model}\` ${constraintMessages[constraint]} (${constraint})`)
  const more = excluded.length > maxNamed ? `; and ${excluded.length - maxNamed} more` : ''
  const why = named.length === 0 ? 'there are no models to choose from.' : `${named.join('; ')}${more}.`
  return GatewayError.invalidRequest(`No model qualifies for \`${policy}\`: ${why}`,
    { param: 'model', code: 'no_model_qualifies' })
}
