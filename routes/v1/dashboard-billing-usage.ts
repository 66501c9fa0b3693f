import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BillingUsage, BillingUsageQuery } from '../../schemas/openai/billing.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { dailyCosts, readDateRange } from '../../services/reports/daily-costs.ts'
import { exactCents } from '../../services/reports/exact-json.ts'

/**
 * `GET /dashboard/billing/usage`, for clients of older gateways: what was spent day by day, in cents; by the
 * key alone when it has a budget of its own, else by its account.
 */
const dashboardBillingUsage: FastifyPluginAsyncTypebox = async app => {
  app.get('/dashboard/billing/usage', {
    schema: {
      tags: ['Billing'],
      summary: 'Show what was spent day by day',
      querystring: BillingUsageQuery,
      response: { 200: BillingUsage, ...errorResponses }
    }
  }, async ({ query, apiKey: { id, account, budget } }) => {
    const range = readDateRange(query, Date.now())
    await app.ledger.flush()
    const days = await dailyCosts(app.store, { ...range, ...(budget === null ? { account } : { key: id }) })
    return {
      object: 'list' as const,
      total_usage: exactCents(days.reduce((sum, { amountNano }) => sum + amountNano, 0)),
      daily_costs: days.map(({ startsAt, models }) => ({
        timestamp: startsAt / 1000,
        line_items: models.map(({ model, amountNano }) => ({ name: model, cost: exactCents(amountNano) }))
      }))
    }
  })
}

export default dashboardBillingUsage
