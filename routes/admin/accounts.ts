import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  Account, AccountChange, AccountList, AccountQuery, Closing, Freezing, NewAccount, WebhookSecret
} from '../../schemas/admin/accounts.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import {
  closeAccount, createAccount, freezeAccount, getAccount, listAccounts, unfreezeAccount, updateAccount,
  withoutParent
} from '../../services/operations/admin/accounts.ts'
import { getWebhookSecret, renewWebhookSecret } from '../../services/operations/admin/webhook-secrets.ts'
import { toPageRequest } from './query.ts'

/** The routes of accounts, except those that book money. */
const accounts: FastifyPluginAsyncTypebox = async app => {
  const one = { params: ById, response: { 200: Account, ...errorResponses } }
  app.get('/accounts', {
    config: { permission: 'read' },
    schema: {
      summary: 'List the accounts and their balances',
      querystring: AccountQuery,
      response: { 200: AccountList, ...errorResponses }
    }
  }, async ({ query, administration }) =>
    await listAccounts(administration, { ...toPageRequest(query), search: query.search }))

  app.post('/accounts', {
    config: { permission: 'operate' },
    schema: {
      summary: 'Create an account; the same one again changes nothing',
      body: NewAccount,
      response: { 200: Account, 201: Account, ...errorResponses }
    }
  }, async ({ body, administration }, reply) => {
    const { account, created } = await createAccount(administration, body)
    return reply.code(created ? 201 : 200).send(account)
  })

  app.get('/accounts/:id', {
    config: { permission: 'read', ownAccount: 'path' },
    schema: { summary: 'Show an account and its credits', ...one }
  }, async ({ params, actor, administration }) => {
    const account = await getAccount(administration, params.id)
    return actor.account === null ? account : withoutParent(account)
  })

  app.patch('/accounts/:id', {
    config: { permission: 'operate' },
    schema: {
      summary: 'Rename an account, change its limits or move it to another parent; absent fields keep their values',
      body: AccountChange,
      ...one
    }
  }, async ({ params, body, administration }) => await updateAccount(administration, params.id, body))

  const secret = { params: ById, response: { 200: WebhookSecret, ...errorResponses } }
  app.get('/accounts/:id/webhook-secret', {
    config: { permission: 'operate' },
    schema: { summary: 'Show the secret that signs the webhooks of an account', ...secret }
  }, async ({ params, administration }) => await getWebhookSecret(administration, params.id))

  app.post('/accounts/:id/webhook-secret/rotate', {
    config: { permission: 'operate' },
    schema: { summary: 'Replace the secret that signs the webhooks of an account; the old one also signs for 24 hours', ...secret }
  }, async ({ params, administration }) => await renewWebhookSecret(administration, params.id))

  app.post('/accounts/:id/freeze', {
    config: { permission: 'operate' },
    schema: { summary: 'Reject requests of an account and of accounts below it', body: Freezing, ...one },
    preValidation: withoutBody
  }, async ({ params, body, administration }) => await freezeAccount(administration, params.id, body))

  app.post('/accounts/:id/unfreeze', {
    config: { permission: 'operate' },
    schema: { summary: 'Accept requests of a frozen account again', body: Freezing, ...one },
    preValidation: withoutBody
  }, async ({ params, body, administration }) => await unfreezeAccount(administration, params.id, body))

  app.post('/accounts/:id/close', {
    config: { permission: 'own' },
    schema: { summary: 'Close an account for good', body: Closing, ...one },
    preValidation: withoutBody
  }, async ({ params, body, administration }) => await closeAccount(administration, params.id, body))
}

export default accounts

/** The body is optional, like all of its fields. */
async function withoutBody (request: FastifyRequest): Promise<void> {
  request.body ??= {}
}
