import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  NewAdjustment, NewDeposit, NewRefund, NewTransfer, NewWithdrawal, PostingHeaders
} from '../../schemas/admin/accounts.ts'
import { Entry } from '../../schemas/admin/entries.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import {
  addAdjustment, addDeposit, addRefund, addTransfer, addWithdrawal, type Booked
} from '../../services/operations/admin/credits.ts'

/** Schema of all postings. A repeated posting returns 200. */
const shared = {
  params: ById,
  headers: PostingHeaders,
  response: { 200: Entry, 201: Entry, ...errorResponses }
}

/** `POST /admin/accounts/:id/deposits`, `…/withdrawals`, `…/transfers`, `…/refunds` and `…/adjustments`. */
const postings: FastifyPluginAsyncTypebox = async app => {
  const config = { permission: 'money' } as const

  app.post('/accounts/:id/deposits', {
    config,
    schema: { summary: 'Book money into an account', body: NewDeposit, ...shared }
  }, async ({ params, body, headers, administration }, reply) =>
    send(reply, await addDeposit(administration, params.id, named(body, headers))))

  app.post('/accounts/:id/withdrawals', {
    config,
    schema: { summary: 'Withdraw money from an account, even while requests run', body: NewWithdrawal, ...shared }
  }, async ({ params, body, headers, administration }, reply) =>
    send(reply, await addWithdrawal(administration, params.id, named(body, headers))))

  app.post('/accounts/:id/transfers', {
    config,
    schema: { summary: 'Move money to another account, or allocate it to one below', body: NewTransfer, ...shared }
  }, async ({ params, body, headers, administration }, reply) =>
    send(reply, await addTransfer(administration, params.id, named(body, headers))))

  app.post('/accounts/:id/refunds', {
    config,
    schema: { summary: 'Refund the charge of a request', body: NewRefund, ...shared }
  }, async ({ params, body, headers, administration }, reply) =>
    send(reply, await addRefund(administration, params.id, named(body, headers))))

  app.post('/accounts/:id/adjustments', {
    config,
    schema: { summary: 'Add to the credits of an account or deduct from them', body: NewAdjustment, ...shared }
  }, async ({ params, body, headers, administration }, reply) =>
    send(reply, await addAdjustment(administration, params.id, named(body, headers))))
}

export default postings

function send (reply: FastifyReply, { entry, created }: Booked): FastifyReply {
  return reply.code(created ? 201 : 200).send(entry)
}

/** Adds the id from the body or the header to the posting. Throws GatewayError 400 if they differ. */
function named<Body extends { id?: string }> (body: Body, headers: PostingHeaders): Body {
  const key = headers['idempotency-key']
  if (key === undefined || key === body.id) return body
  if (body.id === undefined) return { ...body, id: key }
  throw GatewayError.invalidRequest('The field \'id\' and the header \'Idempotency-Key\' name different postings.',
    { param: 'id', code: 'invalid_value' })
}
