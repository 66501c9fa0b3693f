import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { Model, ModelList } from '../../schemas/openai/models.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { describeModel } from '../../services/models/describe.ts'

/**
 * `GET /models` and `GET /models/:id`: what the key may use. Ids may contain slashes, raw or percent-encoded.
 */
const models: FastifyPluginAsyncTypebox = async app => {
  app.get('/models', {
    schema: { summary: 'List the models on offer', response: { 200: ModelList, ...errorResponses } }
  }, async ({ apiKey }) => {
    const usable = app.models.list().filter(({ id }) => apiKey.mayUse(id))
    return { object: 'list' as const, data: usable.map(describeModel) }
  })

  app.get('/models/*', {
    schema: {
      summary: 'Describe one model',
      params: Type.Object({ '*': Type.String() }),
      response: { 200: Model, ...errorResponses }
    }
  }, async ({ apiKey, params: { '*': id } }) => {
    const model = app.models.resolve(id)?.model
    if (model === undefined || !apiKey.mayUse(model.id)) throw GatewayError.unknownModel(id)
    return describeModel(model)
  })
}

export default models
