import type { FastifyInstance } from 'fastify'
import { createAdministration, type Administration } from '../../services/admin/administration.ts'
import accounts from './accounts.ts'
import entries from './entries.ts'
import jobs from './jobs.ts'
import keys from './keys.ts'
import ledger from './ledger.ts'
import postings from './postings.ts'
import requests from './requests.ts'
import usage from './usage.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What operators work with; there only under `/admin`. */
    administration: Administration
  }
}

/** Everything under `/admin`, for admin keys alone. */
export default async function admin (app: FastifyInstance): Promise<void> {
  app.decorate('administration', createAdministration(app))
  app.addHook('onRoute', route => {
    route.schema = { tags: ['Administration'], security: [{ adminKey: [] }], ...route.schema }
  })
  app.addHook('onRequest', app.authenticateAdmin)
  const all = [accounts, postings, entries, keys, usage, requests, ledger, jobs]
  for (const routes of all) await app.register(routes)
}
