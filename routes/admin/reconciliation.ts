import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ReconciliationList, ReconciliationQuery } from '../../schemas/admin/reconciliation.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { withinRange } from '../../services/operations/admin/amounts.ts'
import { listReconciliation, reconciliationCsv, toReconciliationDimensions } from '../../services/operations/admin/reconciliation.ts'
import { Csv, toCsvBody, wantsCsv } from '../csv.ts'
import { refusePaging, toPageRequest, toPeriod } from './query.ts'

const formats = { 'application/json': { schema: ReconciliationList }, 'text/csv': { schema: Csv } }

/** `GET /admin/reconciliation`: what providers reported that requests have cost, beside what was expected. */
const reconciliation: FastifyPluginAsyncTypebox = async app => {
  app.get('/reconciliation', {
    config: { permission: 'read', passThrough: true },
    schema: {
      summary: 'Compare the costs that providers report with the expected costs',
      querystring: ReconciliationQuery,
      response: { 200: { description: 'One page as JSON, or all rows as CSV', content: formats }, ...errorResponses }
    }
  }, async ({ query, headers, administration }, reply) => {
    const { by, account, model, provider, tolerance, format } = query
    const report = {
      by: withinRange('by', () => toReconciliationDimensions(by)),
      ...toPeriod(query),
      account,
      model,
      provider,
      tolerance: tolerance === undefined ? app.models.config().usage.costTolerance : Number(tolerance)
    }
    if (!wantsCsv(format, headers.accept)) {
      return await listReconciliation(administration, { ...report, ...toPageRequest(query) })
    }
    refusePaging(query)
    return await toCsvBody(reply, 'reconciliation', reconciliationCsv(administration, report))
  })
}

export default reconciliation
