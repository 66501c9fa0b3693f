import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MessagesModel, MessagesModelPage, ModelsQuery } from '../../schemas/anthropic/models.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { Model, ModelList } from '../../schemas/openai/models.ts'
import { speaksMessages } from '../../services/http/messages-error.ts'
import { serializerOf } from '../../services/http/serializer.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { describeModel } from '../../services/models/describe.ts'
import { pageOfModels, toMessagesModel } from '../../services/apis/messages/list-models.ts'

const serializePage = serializerOf(MessagesModelPage)
const serializeModel = serializerOf(MessagesModel)

const json = 'application/json; charset=utf-8'
const config = { errorShape: 'by-version' } as const
const security: Record<string, string[]>[] = [{ key: [] }, { apiKey: [] }]
const alsoMessages = 'With the header `anthropic-version`, in the form of Anthropic\'s API: pages of the ' +
  'models available at `/v1/messages`.'

/**
 * `GET /models` and `GET /models/:id`: the models that the key may use, in the form of the client's API. Ids
 * may contain slashes, raw or percent-encoded.
 */
const models: FastifyPluginAsyncTypebox = async app => {
  app.get('/models', {
    config,
    schema: {
      summary: 'List the available models',
      description: alsoMessages,
      security,
      querystring: ModelsQuery,
      response: { 200: ModelList, ...errorResponses }
    }
  }, async (request, reply) => {
    const { apiKey, query } = request
    const isMessages = speaksMessages(request)
    const offered = app.models.list().filter(({ id }) => apiKey.mayUse(id))
    const data = (isMessages ? offered.filter(app.models.servesChat) : offered).map(describeModel)
    if (isMessages) reply.type(json).serializer(() => serializePage(pageOfModels(data, query)))
    return { object: 'list' as const, data }
  })

  app.get('/models/*', {
    config,
    schema: {
      summary: 'Describe one model',
      description: alsoMessages,
      security,
      params: Type.Object({ '*': Type.String() }),
      response: { 200: Model, ...errorResponses }
    }
  }, async (request, reply) => {
    const { apiKey, params: { '*': id } } = request
    const model = app.models.resolve(id)?.model
    const isMessages = speaksMessages(request)
    if (model === undefined || !apiKey.mayUse(model.id)) throw GatewayError.unknownModel(id)
    if (isMessages && !app.models.servesChat(model)) throw GatewayError.unknownModel(id)
    const described = describeModel(model)
    if (isMessages) reply.type(json).serializer(() => serializeModel(toMessagesModel(described)))
    return described
  })
}

export default models
