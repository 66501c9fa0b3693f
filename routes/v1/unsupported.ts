import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errorResponses } from '../../schemas/openai/error.ts'
import { GatewayError } from '../../services/shared/errors.ts'

/** Paths of OpenAI's and Anthropic's APIs below `/v1` that are not served, by where they begin. */
export const unsupported = {
  '/': [
    'assistants', 'audio', 'batches', 'chatkit', 'containers', 'conversations', 'edits', 'embeddings', 'engines',
    'evals', 'files', 'fine-tunes', 'fine_tuning', 'moderations', 'organization', 'projects', 'realtime',
    'skills', 'threads', 'uploads', 'vector_stores'
  ],
  '/images/': ['edits', 'variations'],
  '/messages/': ['batches'],
  '/responses/': ['compact'],
  '/videos/': ['characters', 'edits', 'extensions']
}

/** Tells clients of the rest of these APIs, whatever their method or body, that it is not served: 404. */
export default async function refuseUnsupported (app: FastifyInstance): Promise<void> {
  for (const [start, names] of Object.entries(unsupported)) {
    const refuse = async ({ params }: FastifyRequest<{ Params: { name: string } }>): Promise<never> => {
      throw unsupportedEndpoint(`${app.prefix}${start}${params.name}`)
    }
    const errorShape = start === '/messages/' ? 'messages' : 'by-version'
    // One pattern for all, because routes take their time at the start.
    const path = `${start}:name(^(?:${names.join('|')})$)`
    // Refused before the body is parsed: it may be a multipart upload, which no parser here takes.
    for (const url of [path, `${path}/*`]) {
      const schema = { response: errorResponses }
      app.all(url, { config: { errorShape }, schema, onRequest: refuse, handler: refuse })
    }
  }
  for (const path of ['/videos/:id/remix', '/responses/:id/cancel']) {
    const refuse = async (): Promise<never> => { throw unsupportedEndpoint(app.prefix + path.replace(':id', '{id}')) }
    app.post(path, { schema: { response: errorResponses }, onRequest: refuse, handler: refuse })
  }
}

function unsupportedEndpoint (path: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `Tollgate does not serve ${path}.`, { code: 'unsupported_endpoint' })
}
