import fp from 'fastify-plugin'
import { createAccounts, type Accounts } from '../../services/billing/ledger/accounts.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The accounts that pay for requests. */
    accounts: Accounts
  }
}

export default fp(async app => {
  app.decorate('accounts', createAccounts(app.store))
}, { name: 'accounts', dependencies: ['store'] })
