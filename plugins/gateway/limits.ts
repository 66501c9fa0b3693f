import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { inactiveAccount } from '../../services/keys/errors.ts'
import { whenOver } from '../../services/requests/attempt.ts'
import { createIds } from '../../services/shared/ids.ts'
import { createRateLimiter, type Admission } from '../../services/keys/limits/limits.ts'
import { tokensReserved } from '../../services/keys/limits/tokens.ts'
import { limitKinds, noLimits } from '../../services/shared/limits.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** A preHandler hook for routes that work for a key: 429 beyond a limit, 403 for a frozen account. */
    keepLimits: preHandlerAsyncHookHandler
    /** A preHandler hook for routes about a key's money: 429 beyond their separate limit. */
    keepBillingLimit: preHandlerAsyncHookHandler
  }
}

/**
 * Provides `app.keepLimits`. It runs after validation, so that invalid requests do not count; nor do requests
 * that fail before a provider is called.
 */
export default fp<{ billingPerMinute: number }>(async (app, { billingPerMinute }) => {
  const limits = createRateLimiter({
    store: app.store,
    node: createIds('node_')(),
    onError: error => app.log.error(error, 'the limits could not be counted')
  })
  app.metrics.counter({ name: 'limited_total', help: 'Requests rejected by a limit.', labels: ['kind'] },
    () => limitKinds.map(kind => ({ labels: { kind }, value: limits.refused[kind] })))

  app.decorate('keepLimits', async function keepLimits (request, reply) {
    const { limits: scopes, accountState } = request.apiKey
    if (accountState !== 'active') throw inactiveAccount(accountState)
    if (scopes.length === 0) return
    const { countsTokens = false } = request.routeOptions.config
    const tokens = countsTokens ? tokensReserved(request.body, request.jsonText?.bytes.length ?? 0) : 0
    begin(request, reply, await limits.admit(scopes, tokens))
  })
  app.decorate('keepBillingLimit', async function keepBillingLimit ({ apiKey }, reply) {
    const scope = `billing requests of key:${apiKey.id}`
    const admission = await limits.admit([{ ...noLimits, scope, requestsPerMinute: billingPerMinute }], 0)
    reply.headers(admission.headers)
  })
  app.addHook('onClose', async () => { await limits.close() })
}, { name: 'limits', dependencies: ['store', 'auth', 'request-record', 'metrics', 'json-body'] })

/** Frees the slot when the request has ended in any way. */
function begin ({ record }: FastifyRequest, reply: FastifyReply, admission: Admission): void {
  reply.headers(admission.headers)
  const { raw } = reply
  whenOver(raw, record, () => {
    const usage = record.report?.usage ?? null
    const tokens = usage === null ? null : usage.prompt + usage.completion
    admission.end({ counts: raw.statusCode < 400 || record.attempts > 0, tokens })
  })
}
