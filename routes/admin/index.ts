import type { FastifyInstance } from 'fastify'
import { requirePermission, rolesWith } from '../../services/keys/roles.ts'
import { forUsers, keptToAccount } from '../../services/operations/admin/own-account.ts'
import { createAdministration, type Administration } from '../../services/operations/admin/administration.ts'
import accounts from './accounts.ts'
import alerts from './alerts.ts'
import audit from './audit.ts'
import books from './books.ts'
import entries from './entries.ts'
import holds from './holds.ts'
import jobs from './jobs.ts'
import keys from './keys.ts'
import ledger from './ledger.ts'
import live from './live.ts'
import me from './me.ts'
import media from './media.ts'
import postings from './postings.ts'
import providers from './providers.ts'
import requests from './requests.ts'
import suspense from './suspense.ts'
import usage from './usage.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The operator of the request; set only under `/admin`. */
    administration: Administration
  }
}

/** Everything under `/admin`, only for admin keys. */
export default async function admin (app: FastifyInstance): Promise<void> {
  const administration = createAdministration(app)
  app.decorateRequest('administration', {
    getter () { return { ...administration, actor: this.actor } }
  })
  app.addHook('onRoute', route => {
    const { permission = unlessDeclared, ownAccount } = route.config ?? {}
    const users = ownAccount === undefined ? '' : ' A user who signed in to the console reads their own account.'
    const description = `For the roles ${rolesWith(permission)}.${users}`
    route.schema = { tags: ['Administration'], description, security: [{ adminKey: [] }, { session: [] }], ...route.schema }
  })
  app.addHook('onRequest', app.authenticateReader)
  app.addHook('onRequest', async ({ actor, routeOptions: { config } }) => {
    const isOwn = actor.account !== null && config.ownAccount !== undefined
    if (!isOwn) requirePermission(actor, config.permission ?? unlessDeclared)
  })
  app.addHook('preHandler', async request => {
    const { actor: { account }, routeOptions: { config: { ownAccount } } } = request
    if (account === null || ownAccount === undefined) return
    request.query = keptToAccount(account, ownAccount, request)
  })
  app.addHook('preSerialization', async ({ actor: { account } }, _reply, payload) =>
    account === null ? payload : forUsers(payload))
  const money = [accounts, postings, books, entries, holds, usage, ledger, suspense]
  const all = [me, ...money, keys, requests, jobs, media, audit, alerts, providers, live]
  for (const routes of all) await app.register(routes)
}

const unlessDeclared = 'own'
