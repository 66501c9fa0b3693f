import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Billing } from '../../schemas/openai/billing.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { exactUsd } from '../../services/reports/exact-json.ts'
import subscription from './dashboard-billing-subscription.ts'
import usage from './dashboard-billing-usage.ts'

/**
 * `GET /dashboard/billing`: what the key's account has left and has spent, in USD, exact to the nano-dollar.
 */
const dashboardBilling: FastifyPluginAsyncTypebox = async app => {
  await app.register(subscription)
  await app.register(usage)

  app.get('/dashboard/billing', {
    schema: { tags: ['Billing'], summary: 'Show the balance of the key\'s account', response: { 200: Billing, ...errorResponses } }
  }, async request => {
    const balance = await app.ledger.balance(request.apiKey.account)
    const { creditsNano, spentNano, heldNano, availableNano } = balance
    return {
      balance: exactUsd(creditsNano - spentNano),
      currency: 'usd' as const,
      total_spent: exactUsd(spentNano),
      available: exactUsd(availableNano),
      held: exactUsd(heldNano)
    }
  })
}

export default dashboardBilling
