import type { ModelConfig } from '../catalogue/types.ts'
import type { Conversation } from './conversation.ts'
import type { Policy, Constraint } from './types.ts'

/** What the operator, the key, the client and the moment allow, whatever the request needs. */
export interface Permissions {
  policy: Policy
  mayUse (model: string): boolean
  isHealthy (model: ModelConfig): boolean
}

/** A window that nobody knows is taken to hold this much. */
const assumedWindow = 8192
/** What must be left for an answer when the client does not say how long it may get. */
const leastAnswer = 256

/** The first constraint that keeps a model from a request, but for those that need its cost. */
export function violated (
  model: ModelConfig, request: Conversation, { policy, mayUse, isHealthy }: Permissions
): Constraint | null {
  const { id, kind } = model
  if (kind !== 'chat') return 'kind'
  if (!policy.allows(id)) return 'policy'
  if (!mayUse(id)) return 'key'
  return incapable(model, request) ?? (isHealthy(model) ? null : 'health')
}

function incapable (
  { capabilities, contextWindow, maxOutput }: ModelConfig, request: Conversation
): Constraint | null {
  const { maxTokens, promptTokens } = request
  if (promptTokens + (maxTokens ?? leastAnswer) > (contextWindow ?? assumedWindow)) return 'context_window'
  if (maxOutput !== null && maxTokens !== null && maxTokens > maxOutput) return 'max_output'
  if (request.images > 0 && !capabilities.vision) return 'vision'
  if ((request.audios > 0 || request.wantsAudio) && !capabilities.audio) return 'audio'
  if (request.files > 0 && !capabilities.files) return 'files'
  if ((request.tools > 0 || request.inToolLoop) && !capabilities.tools) return 'tools'
  if (request.wantsSchema && !capabilities.jsonSchema) return 'json_schema'
  return request.wantsStream && !capabilities.streaming ? 'streaming' : null
}
