import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Key, KeyChange, KeyList, KeyQuery, KeyWithSecret, NewKey, Rotation } from '../../schemas/admin/keys.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from '../../services/operations/admin/keys.ts'
import { toPageRequest } from './query.ts'

/**
 * `GET` and `POST /admin/keys`, `GET` and `PATCH /admin/keys/:id`, `POST /admin/keys/:id/rotate` and
 * `…/revoke`.
 */
const keys: FastifyPluginAsyncTypebox = async app => {
  const one = { params: ById, response: { 200: Key, ...errorResponses } }

  app.get('/keys', {
    config: { permission: 'read', ownAccount: 'query' },
    schema: { summary: 'List the keys', querystring: KeyQuery, response: { 200: KeyList, ...errorResponses } }
  }, async ({ query, administration }) =>
    await listKeys(administration, { ...toPageRequest(query), account: query.account, search: query.search }))

  app.post('/keys', {
    config: { permission: 'operate' },
    schema: {
      summary: 'Create a key; only this response contains its secret',
      body: NewKey,
      response: { 201: KeyWithSecret, ...errorResponses }
    }
  }, async ({ body, administration }, reply) => reply.code(201).send(await createKey(administration, body)))

  app.get('/keys/:id', {
    config: { permission: 'read', ownAccount: 'handler' },
    schema: { summary: 'Show a key', ...one }
  }, async ({ params, administration }) => await getKey(administration, params.id))

  app.patch('/keys/:id', {
    config: { permission: 'operate' },
    schema: { summary: 'Change the settings of a key; absent fields keep their values', body: KeyChange, ...one }
  }, async ({ params, body, administration }) => await updateKey(administration, params.id, body))

  app.post('/keys/:id/rotate', {
    config: { permission: 'operate' },
    schema: {
      summary: 'Replace the secret of a key; the old secret keeps working for a grace period',
      params: ById,
      body: Rotation,
      response: { 200: KeyWithSecret, ...errorResponses }
    },
    // The body is optional.
    preValidation: async request => { request.body ??= {} }
  }, async ({ params, body, administration }) => await rotateKey(administration, params.id, body))

  app.post('/keys/:id/revoke', {
    config: { permission: 'operate' },
    schema: { summary: 'Revoke a key for good', ...one }
  }, async ({ params, administration }) => await revokeKey(administration, params.id))
}

export default keys
