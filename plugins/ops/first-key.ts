import fp from 'fastify-plugin'
import { bootstrap } from '../../services/keys/bootstrap.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The key created for an empty store, in plain text; null if the store had keys. */
    firstKey: string | null
  }
}

/** Creates the first key and account in an empty store. */
export default fp<{ startingCreditNano: number }>(async (app, { startingCreditNano }) => {
  const { store, keys, accounts } = app
  const created = await bootstrap({ store, keys, accounts, startingCreditNano })
  app.decorate('firstKey', created?.key ?? null)
}, { name: 'first-key', dependencies: ['store', 'auth', 'accounts'] })
