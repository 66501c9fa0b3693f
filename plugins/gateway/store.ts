import fp from 'fastify-plugin'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The database of accounts, keys, entries and jobs; closed with the server. */
    store: Store
  }
}

export interface StoreOptions {
  /** The URL for `openStore`, e.g. `sqlite:data/tollgate.db`. */
  url: string
}

/** Opens the store as `app.store`; start-up fails if it cannot be opened. */
export default fp<StoreOptions>(async (app, { url }) => {
  const store = await openStore(url, { log: app.log })
  app.decorate('store', store)
  app.addHook('onClose', async () => { await store.close() })
}, { name: 'store' })
