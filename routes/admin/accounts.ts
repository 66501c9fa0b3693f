import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Account, AccountChange, AccountList, AccountQuery, NewAccount } from '../../schemas/admin/accounts.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { createAccount, getAccount, listAccounts, updateAccount } from '../../services/admin/accounts.ts'
import { toPageRequest } from './query.ts'

/** `GET` and `POST /admin/accounts`, `GET` and `PATCH /admin/accounts/:id`. */
const accounts: FastifyPluginAsyncTypebox = async app => {
  const { administration } = app

  app.get('/accounts', {
    schema: {
      summary: 'List the accounts and what they have',
      querystring: AccountQuery,
      response: { 200: AccountList, ...errorResponses }
    }
  }, async ({ query }) => await listAccounts(administration, toPageRequest(query)))

  app.post('/accounts', {
    schema: {
      summary: 'Create an account; the same one again changes nothing',
      body: NewAccount,
      response: { 200: Account, 201: Account, ...errorResponses }
    }
  }, async ({ body }, reply) => {
    const { account, created } = await createAccount(administration, body)
    return reply.code(created ? 201 : 200).send(account)
  })

  app.get('/accounts/:id', {
    schema: {
      summary: 'Show an account and what it has',
      params: ById,
      response: { 200: Account, ...errorResponses }
    }
  }, async ({ params }) => await getAccount(administration, params.id))

  app.patch('/accounts/:id', {
    schema: {
      summary: 'Change the limits of an account; what is absent stays',
      params: ById,
      body: AccountChange,
      response: { 200: Account, ...errorResponses }
    }
  }, async ({ params, body }) => await updateAccount(administration, params.id, body))
}

export default accounts
