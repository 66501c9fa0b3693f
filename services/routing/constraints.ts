import type { ModelConfig } from '../config/catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import type { RequestFeatures } from './request-features.ts'

/**
 * What is wrong with one model, and with several; in the order of checking, so that a model which violates a
 * later constraint is closer to qualifying.
 */
const constraintMessages = {
  unknown: ['is not available here', 'are not available here'],
  policy: ['is not on the list of this policy', 'are not on the list of this policy'],
  kind: ['is not a chat model', 'are not chat models'],
  endpoint: ['is only served in v1/responses', 'are only served in v1/responses'],
  region: ['is not served in an allowed region', 'are not served in an allowed region'],
  pool: ['is chosen only if a policy names it', 'are chosen only if a policy names them'],
  context_window: [
    'has a context window too small for this conversation', 'have context windows too small for this conversation'
  ],
  max_output: ['cannot write as many tokens as requested', 'cannot write as many tokens as requested'],
  vision: ['cannot read images', 'cannot read images'],
  audio: ['cannot process audio', 'cannot process audio'],
  files: ['cannot read files', 'cannot read files'],
  tools: ['cannot call tools', 'cannot call tools'],
  json_schema: ['cannot follow a JSON schema', 'cannot follow a JSON schema'],
  streaming: ['cannot stream', 'cannot stream'],
  price: ['has no price', 'have no price'],
  health: ['is failing at the moment', 'are failing at the moment'],
  parameters: ['does not take these parameters', 'do not take these parameters'],
  ceiling: ['may cost more than this policy allows for a request', 'may cost more than this policy allows for a request'],
  credit: ['costs more than the remaining credit', 'cost more than the remaining credit']
} as const

/** Why a model cannot take a request. */
export type RoutingConstraint = keyof typeof constraintMessages

/** A model that cannot take the request, and the first constraint that it violates. */
export interface Exclusion {
  model: string
  constraint: RoutingConstraint
  /** The parameters of the request that it would drop or refuse; absent: it is out for another reason. */
  parameters?: readonly string[]
}

/** The parameters of a request that a model would drop, and those for which it would refuse the request. */
export type UnmetByModel = (model: ModelConfig) => { dropped: readonly string[], refused: readonly string[] }

/** What the policy and the health of deployments allow. */
export interface RoutingPermissions {
  /** How late the policy chooses a model; null: never. */
  rankOf (model: string): number | null
  /** The lowest rank that is there; models of higher ones are not chosen. */
  rank: number
  isHealthy (model: ModelConfig): boolean
  /** Whether the API of the request has a model. */
  isServed (model: ModelConfig): boolean
  /** Whether a deployment of a model is in an allowed region. */
  isInRegion (model: ModelConfig): boolean
}

/** Tokens assumed for a model whose context window is unknown. */
const assumedWindow = 8192
/** Tokens that must be left for an answer when the client sets no limit. */
const minAnswerTokens = 256

/**
 * The first constraint that a model violates, except those that depend on the cost; null if there is none.
 */
export function violatedConstraint (
  model: ModelConfig, request: RequestFeatures, permissions: RoutingPermissions
): RoutingConstraint | null {
  const { rankOf, rank, isHealthy, isServed, isInRegion } = permissions
  const own = rankOf(model.id)
  if (own === null) return 'policy'
  if (model.kind !== 'chat') return 'kind'
  if (own > rank) return 'pool'
  if (!isServed(model)) return 'endpoint'
  if (!isInRegion(model)) return 'region'
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

/** Constraints that have nothing to do with the request. */
const isBesideThePoint: ReadonlySet<RoutingConstraint> = new Set(['kind', 'policy', 'pool', 'price'])
const most = { names: 3, reasons: 4 }

/**
 * Returns a 400 that says why the models which came into question do not qualify, the closest first. `list`
 * is the field in which the request names its models, at fault if none of them exists; null: it names none.
 */
export function noModelQualifies (
  policy: string, excluded: readonly Exclusion[], list: string | null
): GatewayError {
  const toThePoint = excluded.filter(({ constraint }) => !isBesideThePoint.has(constraint))
  const own = list === null ? excluded.filter(({ constraint }) => constraint !== 'policy') : excluded
  const relevant = toThePoint.length > 0 ? toThePoint : own
  const order = Object.keys(constraintMessages)
  const reasons = [...Map.groupBy(relevant, ({ constraint }) => constraint)]
    .toSorted(([one], [other]) => order.indexOf(other) - order.indexOf(one))
    .slice(0, most.reasons)
    .map(([constraint, models]) => reasonText(constraint, models.map(({ model }) => model)))
  const why = reasons.length === 0 ? 'there are no models to choose from' : reasons.join('; ')
  const isListAtFault = list !== null && relevant.every(({ constraint }) => constraint === 'unknown')
  return GatewayError.invalidRequest(`No model qualifies for \`${policy}\`: ${why}.`,
    { param: isListAtFault ? list : 'model', code: 'no_model_qualifies' })
}

function reasonText (constraint: RoutingConstraint, models: readonly string[]): string {
  const [one, several] = constraintMessages[constraint]
  const names = models.slice(0, most.names).map(model => `\`${model}\``)
  const last = models.length > most.names ? `${models.length - most.names} more` : names.pop() ?? ''
  const subject = names.length === 0 ? last : `${names.join(', ')} and ${last}`
  return `${subject} ${models.length === 1 ? one : several} (${constraint})`
}
