import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Key, KeyChange, KeyList, KeyQuery, KeyWithSecret, NewKey, Rotation } from '../../schemas/admin/keys.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from '../../services/admin/keys.ts'
import { toPageRequest } from './query.ts'

/**
 * `GET` and `POST /admin/keys`, `GET` and `PATCH /admin/keys/:id`, `POST /admin/keys/:id/rotate` and
 * `…/revoke`.
 */
const keys: FastifyPluginAsyncTypebox = async app => {
  const { administration } = app
  const one = { params: ById, response: { 200: Key, ...errorResponses } }

  app.get('/keys', {
    schema: { summary: 'List the keys', querystring: KeyQuery, response: { 200: KeyList, ...errorResponses } }
  }, async ({ query }) => await listKeys(administration, { ...toPageRequest(query), account: query.account }))

  app.post('/keys', {
    schema: {
      summary: 'Create a key; its secret is in this answer alone',
      body: NewKey,
      response: { 201: KeyWithSecret, ...errorResponses }
    }
  }, async ({ body }, reply) => reply.code(201).send(await createKey(administration, body)))

  app.get('/keys/:id', {
    schema: { summary: 'Show a key', ...one }
  }, async ({ params }) => await getKey(administration, params.id))

  app.patch('/keys/:id', {
    schema: { summary: 'Change the settings of a key; what is absent stays', body: KeyChange, ...one }
  }, async ({ params, body }) => await updateKey(administration, params.id, body))

  app.post('/keys/:id/rotate', {
    schema: {
      summary: 'Give a key a new secret; the one until now works for some time yet',
      params: ById,
      body: Rotation,
      response: { 200: KeyWithSecret, ...errorResponses }
    },
    // There is nothing that has to be said.
    preValidation: async request => { request.body ??= {} }
  }, async ({ params, body }) => await rotateKey(administration, params.id, body))

  app.post('/keys/:id/revoke', {
    schema: { summary: 'End a key for good', ...one }
  }, async ({ params }) => await revokeKey(administration, params.id))
}

export default keys
