import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import {
  DeletedResponse, InputItemList, InputItemsQuery, ResponseObject, RetrieveQuery
} from '../../schemas/openai/responses.ts'
import { pageOf } from '../../services/apis/responses/item-page.ts'

const params = Type.Object({ id: Type.String({ maxLength: 512 }) })

/** `GET` and `DELETE /responses/:id`, `GET /responses/:id/input_items`: stored responses of the account. */
const storedResponses: FastifyPluginAsyncTypebox = async app => {
  app.get('/responses/:id', {
    schema: {
      summary: 'Get a stored response',
      description: 'A stored response of the key\'s account; deleted after `TOLLGATE_RESPONSES_DAYS`.',
      params,
      querystring: RetrieveQuery,
      response: { 200: ResponseObject, ...errorResponses }
    }
  }, async ({ apiKey, params: { id } }) => await app.responses.get(apiKey.account, id))

  app.delete('/responses/:id', {
    schema: {
      summary: 'Delete a stored response',
      description: 'Deletes the response and its input items.',
      params,
      response: { 200: DeletedResponse, ...errorResponses }
    }
  }, async ({ apiKey, params: { id } }) => {
    await app.responses.delete(apiKey.account, id)
    return { id, object: 'response' as const, deleted: true }
  })

  app.get('/responses/:id/input_items', {
    schema: {
      summary: 'List the input items of a stored response',
      description: 'The input of the response, in pages.',
      params,
      querystring: InputItemsQuery,
      response: { 200: InputItemList, ...errorResponses }
    }
  }, async ({ apiKey, params: { id }, query }) => {
    return pageOf(await app.responses.input(apiKey.account, id), query)
  })
}

export default storedResponses
