import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Payer } from '../../services/billing/payer.ts'
import type { ProblemIn } from '../../services/extensions/checks.ts'
import { createExtensions, type Extensions } from '../../services/extensions/extensions.ts'
import type { RequestHooks } from '../../services/extensions/request-hooks.ts'
import type { LoginRequest, TollgatePlugin } from '../../services/extensions/types.ts'
import type { IdentifiedUser } from '../../services/keys/identified-key.ts'
import { clientLeft, whenClosed } from '../../services/requests/attempt.ts'
import type { RequestRecord } from '../../services/requests/request-record.ts'
import type { RequestListener } from '../../services/requests/request-summary.ts'
import { settledRecord } from '../../services/requests/settled-record.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The operator's plugins; null without any, so that they cost nothing. */
    extensions: RunningExtensions | null
  }
}

interface RunningExtensions extends Omit<Extensions, 'begin' | 'logIn' | 'close'> {
  /** The hooks for a request that is about to be served; null if no plugin has any. */
  begin (reply: FastifyReply, payer: Payer, signal: AbortSignal): RequestHooks | null
  /** Identifies the user who sends a request; null if no plugin does. Throws PluginError. */
  identify (request: FastifyRequest, reply: FastifyReply): Promise<IdentifiedUser | null>
  /** Runs the hook `settled` for a request. */
  requestEnded: RequestListener
}

/** Offers the hooks of the operator's plugins, and names those that take part in a response header. */
export default fp<{ plugins: readonly TollgatePlugin[] }>(async (app, { plugins }) => {
  if (plugins.length === 0) {
    app.decorate('extensions', null)
    return
  }
  const { begin, logIn, close, ...shared } = createExtensions(plugins, app.log)
  const hooksOf = new WeakMap<RequestRecord, RequestHooks>()
  const settling = new Set<Promise<void>>()

  app.decorate('extensions', {
    ...shared,
    begin (reply, { key, chain: [account = ''], tags }, signal) {
      const { request } = reply
      const payer = { requestId: request.id, key, account, tags: tags ?? null }
      const hooks = begin({ ...payer, signal, problemIn: problemsOf(request), ...notesOf(reply) })
      if (hooks !== null) hooksOf.set(request.record, hooks)
      return hooks
    },
    async identify (request, reply) {
      const left = new AbortController()
      whenClosed(reply.raw, () => left.abort(clientLeft()))
      const { id: requestId } = request
      const login = await logIn(loginOf(request), { requestId, signal: left.signal, ...notesOf(reply) })
      if (login === null) return null
      const { plugin, identity } = login
      const { account, subject, createAccount = false, models = null, ...limits } = identity
      return { plugin, account, subject, createAccount, models, limits }
    },
    requestEnded (summary) {
      // The job of a video ends later.
      const hooks = summary.record.job === null ? hooksOf.get(summary.record) : undefined
      if (hooks === undefined) return
      const settled = hooks.settled(settledRecord(summary)).finally(() => settling.delete(settled))
      settling.add(settled)
    }
  })
  app.addHook('onClose', async () => {
    await Promise.all(settling)
    await close()
  })
}, { name: 'extensions', dependencies: ['request-record'] })

/** The notes about plugins, kept in the record and sent with the response unless it has begun. */
function notesOf (reply: FastifyReply) {
  const { record } = reply.request
  return {
    notes: [...record.plugins ?? []],
    onNotes (notes: readonly string[]): void {
      record.plugins = notes
      if (notes.length > 0 && !reply.sent && !reply.raw.headersSent) reply.header('x-tollgate-plugins', notes.join(', '))
    }
  }
}

/** Validates as the route does. */
function problemsOf (request: FastifyRequest): ProblemIn {
  return (schema, value) => {
    const validate = request.compileValidationSchema(schema)
    if (validate(value)) return null
    const [{ instancePath = '', message = 'invalid' } = {}] = validate.errors ?? []
    return `${instancePath} ${message}`.trim()
  }
}

function loginOf ({ method, url, headers, ip }: FastifyRequest): LoginRequest {
  const texts = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value])
  return { method, path: url.replace(/\?.*$/s, ''), headers: Object.fromEntries(texts), ip }
}
