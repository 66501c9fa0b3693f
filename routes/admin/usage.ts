import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { UsageList, UsageQuery } from '../../schemas/admin/usage.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { withinRange } from '../../services/operations/admin/amounts.ts'
import { clientUsageCsv, listUsage, toDimensions, usageCsv, type UsageReport } from '../../services/operations/admin/usage.ts'
import { Csv, toCsvBody, wantsCsv } from '../csv.ts'
import { refusePaging, toPageRequest, toPeriod } from './query.ts'

const formats = { 'application/json': { schema: UsageList }, 'text/csv': { schema: Csv } }

/** `GET /admin/usage`: usage reports; JSON, or CSV if `format` or `Accept` selects it. */
const usage: FastifyPluginAsyncTypebox = async app => {
  app.get('/usage', {
    config: { permission: 'read', ownAccount: 'query', passThrough: true },
    schema: {
      summary: 'Report usage and its cost',
      querystring: UsageQuery,
      response: { 200: { description: 'One page as JSON, or all rows as CSV', content: formats }, ...errorResponses }
    }
  }, async ({ query, headers, actor, administration }, reply) => {
    const report = toReport(query)
    if (!wantsCsv(query.format, headers.accept)) {
      return await listUsage(administration, { ...report, ...toPageRequest(query) })
    }
    refusePaging(query)
    const csv = actor.account === null ? usageCsv(administration, report) : clientUsageCsv(app.store, report)
    return await toCsvBody(reply, 'usage', csv)
  })
}

export default usage

/** Throws GatewayError 400. */
function toReport (query: UsageQuery): UsageReport {
  const { by, children, estimated, tag, account, key, label, model, provider } = query
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(tag ?? '') ?? []
  return {
    by: withinRange('by', () => toDimensions(by)),
    ...toPeriod(query),
    children: children === 'true',
    account,
    key,
    label,
    model,
    provider,
    estimated: estimated === undefined ? undefined : estimated === 'true',
    tag: tag === undefined ? undefined : { name, value }
  }
}
