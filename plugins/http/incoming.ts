import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Incoming } from '../../services/requests/incoming.ts'
import type { ActiveMember } from '../../services/shared/timers.ts'
import type { Tags } from '../../services/ledger/ledger.ts'
import { createTagReader, tagsHeader } from '../../services/requests/tags.ts'
import { isObject } from '../../services/shared/json.ts'
import { readRequestOptions } from '../../services/requests/request-headers.ts'
import { noJobForWebhook, webhookField } from '../../services/webhooks/check-url.ts'
import { overloaded } from '../../services/http/load.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** This validated request as a use case takes it. Throws GatewayError 400 or 503. */
    incoming<Body> (this: { request: { body: Body } }): Incoming<Body>
  }
}

/** Aborts the work for one request. */
export class RequestAbort extends AbortController implements ActiveMember {
  slot = -1
}

/** Turns validated requests into what the use cases take. */
export default fp(async app => {
  const names = () => app.models.config().usage.tags
  const readTags = createTagReader({ names, clock: () => app.store.clock() })
  const tagsOf = ({ apiKey: { account }, body, headers }: FastifyRequest): Tags | null => {
    if (names().length === 0) return null
    return readTags({ account, metadata: isObject(body) ? body.metadata : null, header: headers[tagsHeader] })
  }
  app.decorateReply('incoming', function <Body> (this: ReplyWith<Body>): Incoming<Body> {
    const { request, raw } = this
    const { apiKey, body, trace } = request
    if (hasWebhook(body) && request.routeOptions.config.startsJobs !== true) throw noJobForWebhook()
    trace.isStream = wantsStream(body)
    if (trace.isStream && app.load.isFull('streams', request.keyLoad)) throw overloaded()
    const options = readRequestOptions(request.headers)
    const abort = abortOnDisconnect(raw, app.running)
    return {
      ...options,
      request: body,
      text: request.jsonText,
      requestId: request.id,
      payer: { key: apiKey.id, chain: apiKey.chainAt(app.store.clock()), tags: tagsOf(request) },
      mayUse: model => apiKey.mayUse(model),
      signal: abort.signal,
      giveUp: reason => abort.abort(reason),
      trace,
      delivery: this.toDelivery(abort.signal)
    }
  })
}, { name: 'incoming', dependencies: ['store', 'models', 'auth', 'json-body', 'overload', 'trace', 'graceful-close', 'sse-reply'] })

type ReplyWith<Body> = FastifyReply & { request: { body: Body } }

function hasWebhook (body: unknown): boolean {
  return isObject(body) && body[webhookField] !== undefined
}

function wantsStream (body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
}

/**
 * A controller that aborts when the client disconnects before its response is complete; until the response is
 * closed it is one of `running`. It watches the response because a request is "closed" as soon as its body
 * has been read.
 */
function abortOnDisconnect (response: ServerResponse, running: FastifyInstance['running']): AbortController {
  const controller = new RequestAbort()
  running.add(controller)
  response.on('close', () => {
    running.delete(controller)
    if (!response.writableEnded) controller.abort()
  })
  return controller
}
