import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Billing } from '../../schemas/billing.ts'
import { errorResponses } from '../../schemas/error.ts'
import { usdFromNano } from '../../services/money.ts'

/**
 * `GET /dashboard/billing`: what the key's account has left and has spent, in USD, exact to the nano-dollar.
 */
const dashboardBilling: FastifyPluginAsyncTypebox = async app => {
  app.get('/dashboard/billing', {
    schema: { summary: 'Show the balance of the key\'s account', response: { 200: Billing, ...errorResponses } }
  }, async request => {
    const { creditsNano, spentNano } = await app.accounts.balance(request.apiKey.account)
    return {
      balance: usdFromNano(creditsNano - spentNano),
      currency: 'usd' as const,
      total_spent: usdFromNano(spentNano)
    }
  })
}

export default dashboardBilling
