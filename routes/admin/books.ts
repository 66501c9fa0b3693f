import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BalanceAt, BalanceQuery, StatementList, StatementQuery } from '../../schemas/admin/books.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { withinRange } from '../../services/operations/admin/amounts.ts'
import { getBalanceAt } from '../../services/operations/admin/books.ts'
import { listStatements, statementsCsv } from '../../services/operations/admin/statements.ts'
import { readIsoTime } from '../../services/shared/iso-time.ts'
import { Csv, toCsvBody, wantsCsv } from '../csv.ts'
import { refusePaging, toPageRequest } from './query.ts'

const formats = { 'application/json': { schema: StatementList }, 'text/csv': { schema: Csv } }

/** `GET /admin/statements` and `…/accounts/:id/balance`. */
const books: FastifyPluginAsyncTypebox = async app => {
  app.get('/statements', {
    config: { permission: 'read', passThrough: true },
    schema: {
      summary: 'Show the statements of a month: opening balance, movements and closing balance of each account',
      querystring: StatementQuery,
      response: { 200: { description: 'One page as JSON, or all rows as CSV', content: formats }, ...errorResponses }
    }
  }, async ({ query, headers, administration }, reply) => {
    const request = { month: query.month, account: query.account }
    if (!wantsCsv(query.format, headers.accept)) {
      return await listStatements(administration, { ...request, ...toPageRequest(query) })
    }
    refusePaging(query)
    return await toCsvBody(reply, `statements-${query.month}`, statementsCsv(administration, request))
  })

  app.get('/accounts/:id/balance', {
    config: { permission: 'read', ownAccount: 'path' },
    schema: {
      summary: 'Show the balance of an account at a time',
      params: ById,
      querystring: BalanceQuery,
      response: { 200: BalanceAt, ...errorResponses }
    }
  }, async ({ params, query: { at }, administration }) =>
    await getBalanceAt(administration, params.id, at === undefined ? undefined : withinRange('at', () => readIsoTime(at))))
}

export default books
