import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/error.ts'
import { Model, ModelList } from '../../schemas/models.ts'
import type { ModelConfig } from '../../services/config/config.ts'
import { GatewayError } from '../../services/errors.ts'

/** `GET /models` and `GET /models/:id`; ids may contain slashes, raw or percent-encoded. */
const models: FastifyPluginAsyncTypebox = async app => {
  app.get('/models', {
    schema: { summary: 'List the models on offer', response: { 200: ModelList, ...errorResponses } }
  }, async () => ({ object: 'list' as const, data: app.models.list().map(toModel) }))

  app.get('/models/*', {
    schema: {
      summary: 'Describe one model',
      params: Type.Object({ '*': Type.String() }),
      response: { 200: Model, ...errorResponses }
    }
  }, async request => {
    const id = request.params['*']
    const resolved = app.models.resolve(id)
    if (resolved === undefined) throw GatewayError.unknownModel(id)
    return toModel(resolved.model)
  })
}

export default models

function toModel ({ id, created, ownedBy }: ModelConfig): Model {
  return { id, object: 'model', created, owned_by: ownedBy }
}
