import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ById } from '../../schemas/admin/shared.ts'
import { SuspenseClosing, SuspenseItem, SuspenseList, SuspenseQuery } from '../../schemas/admin/suspense.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { clearSuspense, listSuspense, writeOffSuspense } from '../../services/operations/admin/suspense.ts'
import { toPageRequest } from './query.ts'

/** `GET /admin/suspense`, `POST /admin/suspense/:id/clear` and `…/write-off`; repeating one returns 200. */
const suspense: FastifyPluginAsyncTypebox = async app => {
  const closing = {
    params: ById,
    body: SuspenseClosing,
    response: { 200: SuspenseItem, 201: SuspenseItem, ...errorResponses }
  }

  app.get('/suspense', {
    config: { permission: 'read' },
    schema: {
      summary: 'List costs that no account was charged',
      querystring: SuspenseQuery,
      response: { 200: SuspenseList, ...errorResponses }
    }
  }, async ({ query, administration }) => {
    const { state, account } = query
    return await listSuspense(administration, { ...toPageRequest(query), state, account })
  })

  app.post('/suspense/:id/clear', {
    config: { permission: 'money' },
    schema: { summary: 'Charge an amount in suspense to its account', ...closing }
  }, async ({ params, body, administration }, reply) => {
    const { item, created } = await clearSuspense(administration, params.id, body)
    return reply.code(created ? 201 : 200).send(item)
  })

  app.post('/suspense/:id/write-off', {
    config: { permission: 'money' },
    schema: { summary: 'Write off an amount in suspense at the operator\'s expense', ...closing }
  }, async ({ params, body, administration }, reply) => {
    const { item, created } = await writeOffSuspense(administration, params.id, body)
    return reply.code(created ? 201 : 200).send(item)
  })
}

export default suspense
