import { GatewayError } from '../../services/shared/errors.ts'

/** Paths of OpenAI's and Anthropic's APIs that are not served, including everything below them. */
export const unsupported: readonly string[] = [
  '/v1/agents',
  '/v1/assistants',
  '/v1/audio',
  '/v1/batches',
  '/v1/chatkit',
  '/v1/containers',
  '/v1/content_provenance_checks',
  '/v1/conversations',
  '/v1/decisions',
  '/v1/edits',
  '/v1/embeddings',
  '/v1/engines',
  '/v1/evals',
  '/v1/files',
  '/v1/fine-tunes',
  '/v1/fine_tuning',
  '/v1/images/edits',
  '/v1/images/variations',
  '/v1/live',
  '/v1/messages/batches',
  '/v1/moderations',
  '/v1/organization',
  '/v1/projects',
  '/v1/realtime',
  '/v1/responses/compact',
  '/v1/responses/{id}/cancel',
  '/v1/safety',
  '/v1/skills',
  '/v1/threads',
  '/v1/uploads',
  '/v1/vaults',
  '/v1/vector_stores',
  '/v1/videos/characters',
  '/v1/videos/edits',
  '/v1/videos/extensions',
  '/v1/videos/{id}/remix',
  '/v1/webhook_endpoints',
  '/v1/webhook_event_types'
]

const patterns = unsupported.map(path => new RegExp(`^${path.replace('{id}', '[^/]+')}(?:/|$)`))

/** Throws GatewayError 404 for the unsupported rest of these APIs, for any method. */
export function refuseUnsupported (path: string): void {
  const found = patterns.findIndex(pattern => pattern.test(path))
  if (found === -1) return
  throw new GatewayError(404, 'invalid_request_error', `Tollgate does not serve ${unsupported[found]}.`,
    { code: 'unsupported_endpoint' })
}
