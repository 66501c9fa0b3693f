import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { MessagesModel, MessagesModelPage, ModelsQuery } from '../../schemas/anthropic/models.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { Model, ModelList } from '../../schemas/openai/models.ts'
import { speaksMessages } from '../../services/http/messages-error.ts'
import { serializerOf } from '../../services/http/serializer.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { describeModel } from '../../services/models/describe.ts'
import { toCodexModels } from '../../services/apis/responses/codex-models.ts'
import { pageOfModels, toMessagesModel } from '../../services/apis/messages/list-models.ts'

const serializePage = serializerOf(MessagesModelPage)
const serializeList = serializerOf(ModelList)
const serializeModel = serializerOf(MessagesModel)

const json = 'application/json; charset=utf-8'
const config = { errorShape: 'by-version' } as const
const security: Record<string, string[]>[] = [{ key: [] }, { apiKey: [] }]
const alsoMessages = 'With the header `anthropic-version`, in the form of Anthropic\'s API: pages of the ' +
  'models available at `/v1/messages`.'

/**
 * `GET /models` and `GET /models/:id`: the policies and models that the key may use, in the form of the
 * client's API. Ids may contain slashes, raw or percent-encoded.
 */
const models: FastifyPluginAsyncTypebox = async app => {
  app.get('/models', {
    config,
    schema: {
      summary: 'List the available models',
      description: `${alsoMessages} With \`client_version\`, also in Codex's form: \`models\` with tools and a price.`,
      security,
      querystring: ModelsQuery,
      response: { 200: ModelList, ...errorResponses }
    }
  }, async (request, reply) => {
    const listing = app.modelLists.of(request.apiKey)
    const { list, chat } = listing
    const isMessages = speaksMessages(request)
    reply.type(json).serializer(() => {
      if (isMessages) return serializePage(pageOfModels(chat, request.query))
      if (request.query.client_version !== undefined) {
        // Codex reads `models` and ignores the usual list.
        listing.codexText ??= JSON.stringify({ ...list, ...toCodexModels(list.data) })
        return listing.codexText
      }
      listing.text ??= serializeList(list)
      return listing.text
    })
    return list
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
    const { apiKey, params: { '*': name } } = request
    const mayUse = (model: string): boolean => apiKey.mayUse(model)
    const id = app.models.targetOf(name)
    const model = app.models.resolve(id)?.model
    const isMessages = speaksMessages(request)
    const isOffered = model !== undefined && mayUse(model.id) && (!isMessages || app.models.servesChat(model))
    const described = isOffered ? describeModel(model) : app.modelLists.policy(id, mayUse)
    if (described === null) throw GatewayError.unknownModel(name, app.models.hintFor(name, mayUse))
    if (isMessages) reply.type(json).serializer(() => serializeModel(toMessagesModel(described)))
    return described
  })
}

export default models
