import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BillingUsage, BillingUsageQuery } from '../../schemas/openai/billing.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { clientUsageCsv } from '../../services/operations/admin/usage.ts'
import { exactCents } from '../../services/operations/reports/exact-json.ts'
import { parseOwnDimensions, splitOwnDimensions } from '../../services/operations/reports/own-dimensions.ts'
import { periodCosts, readDateRange, type PeriodCosts } from '../../services/operations/reports/period-costs.ts'
import { Csv, toCsvBody, wantsCsv } from '../csv.ts'

const formats = { 'application/json': { schema: BillingUsage }, 'text/csv': { schema: Csv } }

/**
 * `GET /dashboard/billing/usage`, for clients of older gateways: spending in cents, or as CSV with tokens; of
 * the key if it has a budget or `scope` is `key`, else of its account.
 */
const dashboardBillingUsage: FastifyPluginAsyncTypebox = async app => {
  app.get('/dashboard/billing/usage', {
    config: { passThrough: true },
    schema: {
      tags: ['Billing'],
      summary: 'Show spending by day',
      description: 'In cents, of the key if it has a budget or `scope=key`, else of its account; by model, or by ' +
        '`by`.',
      querystring: BillingUsageQuery,
      response: { 200: { description: 'In cents as JSON, or with tokens as CSV', content: formats }, ...errorResponses }
    }
  }, async ({ query, headers, apiKey: { id, account, budget } }, reply) => {
    const range = readDateRange(query, app.store.clock())
    const by = parseOwnDimensions(query.by)
    const scope = budget !== null || query.scope === 'key' ? { key: id } : { account }
    await app.ledger.flush()
    if (wantsCsv(query.format, headers.accept)) {
      return await toCsvBody(reply, 'usage', clientUsageCsv(app.store, { ...range, ...scope, by }))
    }
    return toBillingUsage(await periodCosts(app.store, { ...range, ...scope, ...splitOwnDimensions(by) }))
  })
}

export default dashboardBillingUsage

function toBillingUsage (periods: readonly PeriodCosts[]): BillingUsage {
  return {
    object: 'list',
    total_usage: exactCents(periods.reduce((sum, { amountNano }) => sum + amountNano, 0)),
    total_saved: exactCents(periods.reduce((sum, { savedNano }) => sum + savedNano, 0)),
    daily_costs: periods.map(({ startsAt, savedNano, items }) => ({
      timestamp: startsAt / 1000,
      saved: exactCents(savedNano),
      line_items: items.map(({ name, amountNano }) => ({ name, cost: exactCents(amountNano) }))
    }))
  }
}
