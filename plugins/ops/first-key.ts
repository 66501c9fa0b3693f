import fp from 'fastify-plugin'
import { bootstrap } from '../../services/keys/bootstrap.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * The key that was created with the store; null when the store already had keys. Shown once, never kept.
     */
    firstKey: string | null
  }
}

export default fp<{ startingCreditNano: number }>(async (app, { startingCreditNano }) => {
  const { store, keys, accounts } = app
  const created = await bootstrap({ store, keys, accounts, startingCreditNano })
  app.decorate('firstKey', created?.key ?? null)
}, { name: 'first-key', dependencies: ['store', 'auth', 'accounts'] })
