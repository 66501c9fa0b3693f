import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../../services/errors.ts'

/** Paths of OpenAI's API below `/v1` that the gateway does not serve, each with everything below it. */
export const unsupportedPaths = [
  '/assistants', '/audio', '/batches', '/chatkit', '/containers', '/conversations', '/edits', '/embeddings',
  '/engines', '/evals', '/files', '/fine-tunes', '/fine_tuning', '/images/edits', '/images/variations',
  '/moderations', '/organization', '/projects', '/realtime', '/responses', '/skills', '/threads', '/uploads',
  '/vector_stores', '/videos'
]

/** Tells clients of the rest of OpenAI's API, whatever their method or body, that it is not served: 404. */
export default async function unsupported (app: FastifyInstance): Promise<void> {
  for (const path of unsupportedPaths) {
    const refuse = async (): Promise<never> => {
      const message = `Tollgate does not serve ${app.prefix}${path}.`
      throw new GatewayError(404, 'invalid_request_error', message, { code: 'unsupported_endpoint' })
    }
    // Refused before the body is parsed: it may be a multipart upload, which no parser here takes.
    for (const url of [path, `${path}/*`]) app.all(url, { onRequest: refuse, handler: refuse })
  }
}
