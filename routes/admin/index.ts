import type { FastifyInstance } from 'fastify'
import type { MediaRow } from '../../services/media/rows.ts'
import { requirePermission, rolesWith } from '../../services/keys/roles.ts'
import { forUsers, keptToAccount } from '../../services/operations/admin/own-account.ts'
import type { HostedAdministration } from '../../services/operations/admin/admin-host.ts'
import { createAdministration } from '../../services/operations/admin/administration.ts'
import { adminResources } from '../../services/operations/admin/resources/all.ts'
import live from './live.ts'
import resource from './resource.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The operator of the request; set only under `/admin`. */
    administration: HostedAdministration
  }
}

/** Everything under `/admin`, only for admin keys. */
export default async function admin (app: FastifyInstance): Promise<void> {
  const host = {
    config: async () => app.models.config(),
    deployments: app.deployments,
    provider: (id: string) => app.providers.get(id),
    unpriced: () => app.models.unpriced(),
    flushRequestLog: () => app.flushRequestLog()
  }
  const administration = createAdministration(app)
  app.decorateRequest('administration', {
    getter () {
      const mediaUrls = async () => {
        const base = this.baseUrl()
        return (row: MediaRow) => app.media.url(row, base)
      }
      return { ...administration, actor: this.actor, host: { ...host, mediaUrls } }
    }
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
  for (const operations of Object.values(adminResources)) await app.register(resource, { operations })
  await app.register(live)
}

const unlessDeclared = 'own'
