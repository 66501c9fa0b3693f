import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BillingSubscription } from '../../schemas/openai/billing.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { exactUsd } from '../../services/operations/reports/exact-json.ts'
import { spendingLimit } from '../../services/operations/reports/spending-limit.ts'

/** Expiry of a key without one: the end of the year 9999, in Unix seconds. */
const neverS = 253_402_300_799

/**
 * `GET /dashboard/billing/subscription`, for clients of older gateways. Every limit is the total that the key
 * may spend, so that limit less usage is the remainder.
 */
const dashboardBillingSubscription: FastifyPluginAsyncTypebox = async app => {
  app.get('/dashboard/billing/subscription', {
    schema: {
      tags: ['Billing'],
      summary: 'Show the spending limit of the key',
      description: 'In the form of OpenAI\'s older billing API, for clients that show a balance.',
      response: { 200: BillingSubscription, ...errorResponses }
    }
  }, async ({ apiKey }) => {
    const limit = exactUsd(await spendingLimit(apiKey, app.store.clock(), app.ledger.balance))
    return {
      object: 'billing_subscription' as const,
      has_payment_method: true,
      soft_limit_usd: limit,
      hard_limit_usd: limit,
      system_hard_limit_usd: limit,
      access_until: apiKey.expiresAt === null ? neverS : Math.floor(apiKey.expiresAt / 1000)
    }
  })
}

export default dashboardBillingSubscription
