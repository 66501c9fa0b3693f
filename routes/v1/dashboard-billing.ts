import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Billing } from '../../schemas/openai/billing.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { exactUsd } from '../../services/operations/reports/exact-json.ts'
import { availableTo } from '../../services/operations/reports/spending-limit.ts'
import subscription from './dashboard-billing-subscription.ts'
import usage from './dashboard-billing-usage.ts'

/**
 * `GET /dashboard/billing`: balance and spending of the key's account, and the USD available to the key,
 * exact to the nano-dollar.
 */
const dashboardBilling: FastifyPluginAsyncTypebox = async app => {
  app.addHook('preHandler', app.keepBillingLimit)
  await app.register(subscription)
  await app.register(usage)

  app.get('/dashboard/billing', {
    schema: {
      tags: ['Billing'],
      summary: 'Show the balance of the key\'s account',
      description: 'The balance of the account, the holds of running requests, and the available amount.',
      response: { 200: Billing, ...errorResponses }
    }
  }, async ({ apiKey }) => {
    const { creditsNano, spentNano, heldNano } = await app.ledger.balance(apiKey.account)
    const availableNano = await availableTo(apiKey, app.store.clock(), app.ledger.balance)
    return {
      balance: exactUsd(creditsNano - spentNano),
      currency: 'usd' as const,
      total_spent: exactUsd(spentNano),
      available: exactUsd(Math.max(0, availableNano)),
      held: exactUsd(heldNano)
    }
  })
}

export default dashboardBilling
