import type {
  FastifyInstance, FastifyPluginAsync, onRequestHookHandler, preValidationHookHandler
} from 'fastify'
import { deploymentParameter } from '../../services/http/azure-address.ts'
import { dropNulls } from '../../services/http/drop-nulls.ts'
import { speaksMessages } from '../../services/http/messages-error.ts'
import { isObject, isText, JsonText } from '../../services/shared/json.ts'
import chatCompletions from './chat-completions.ts'
import completions from './completions.ts'
import dashboardBilling from './dashboard-billing.ts'
import imagesGenerations from './images-generations.ts'
import messages from './messages.ts'
import messagesCountTokens from './messages-count-tokens.ts'
import models from './models.ts'
import responses from './responses.ts'
import responsesInputTokens from './responses-input-tokens.ts'
import storedResponses from './stored-responses.ts'
import routingDecisions from './routing-decisions.ts'
import { takeAlias } from './take-alias.ts'
import createVideo from './videos.ts'
import videoContent from './videos-content.ts'
import videosById from './videos-by-id.ts'

/** Everything under `/v1`; every endpoint requires a key. */
const v1: FastifyPluginAsync = async app => {
  app.addHook('preValidation', takeNulls)
  await app.register(async keyed => {
    requireKey(keyed)
    await keyed.register(async working => {
      working.addHook('preValidation', takeDeployment)
      working.addHook('preHandler', takeAlias)
      working.addHook('preHandler', working.keepLimits)
      await working.register(chatCompletions)
      await working.register(completions)
      await working.register(responses)
      await working.register(responsesInputTokens)
      await working.register(imagesGenerations)
      await working.register(createVideo)
    })
    await keyed.register(videosById)
    await keyed.register(videoContent)
    await keyed.register(dashboardBilling)
    await keyed.register(routingDecisions)
  })
  await app.register(async keyed => {
    requireKey(keyed, addRequestId)
    await keyed.register(async working => {
      working.addHook('preHandler', takeAlias)
      working.addHook('preHandler', working.keepLimits)
      await working.register(messages)
      await working.register(messagesCountTokens)
    })
    await keyed.register(models)
    await keyed.register(storedResponses)
  })
}

/** Requires a key for the routes of a scope; the hooks in `first` run before. */
function requireKey (app: FastifyInstance, ...first: onRequestHookHandler[]): void {
  app.addHook('onRoute', route => {
    route.schema = { tags: ['Models'], security: [{ key: [] }], ...route.schema }
  })
  app.addHook('onRequest', app.shedLoad)
  for (const hook of [...first, app.takeApiKey]) app.addHook('onRequest', hook)
  app.addHook('onRequest', app.authenticate)
  app.addHook('onRequest', app.keepShare)
}

/** Takes null for the absence of an optional member, in the body and its text. */
const takeNulls: preValidationHookHandler = (request, _reply, done) => {
  const { body, jsonText, routeOptions: { schema } } = request
  const mayHaveNulls = jsonText?.bytes.includes('null') === true
  if (mayHaveNulls && isObject(body) && dropNulls(body, schema?.body)) request.jsonText = JsonText.from(body)
  done()
}

/** Azure's clients name the model in the path: that becomes the `model` of the body. */
const takeDeployment: preValidationHookHandler = (request, _reply, done) => {
  const { body, query } = request
  const model = isObject(query) ? query[deploymentParameter] : undefined
  if (isText(model) && isObject(body) && body.model !== model) {
    request.jsonText = JsonText.from({ ...body, model })
    body.model = model
  }
  done()
}

/** Adds the header in which clients of the Messages API look for the request id. */
const addRequestId: onRequestHookHandler = (request, reply, done) => {
  if (speaksMessages(request)) reply.header('request-id', request.id)
  done()
}

export default v1
