import { once } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { clientLeft, whenClosed } from '../../services/requests/attempt.ts'
import type { Delivery, EncodeError, Events, LongPollResponse, StreamLife } from '../../services/requests/delivery.ts'
import type { Exchange } from '../../services/requests/exchange.ts'
import { recordEnding } from '../../services/requests/request-record.ts'
import type { EventSink } from '../../services/providers/provider.ts'
import { toGatewayError } from '../../services/http/to-gateway-error.ts'
import { heldHeaders } from '../../services/requests/long-poll.ts'
import { errorText } from '../../services/http/error-text.ts'
import { messagesErrorText, speaksMessages } from '../../services/http/messages-error.ts'
import { KeepAlive } from '../../services/http/keep-alive.ts'
import type { ActiveMember } from '../../services/shared/timers.ts'
import type { Tags } from '../../services/billing/ledger/ledger.ts'
import { createTagReader, tagsHeader } from '../../services/requests/tags.ts'
import { isObject } from '../../services/shared/json.ts'
import { readRequestOptions } from '../../services/requests/request-headers.ts'
import { noJobForWebhook, webhookField } from '../../services/videos/webhooks/check-url.ts'
import { overloaded } from '../../services/http/load.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** This validated request as a use case takes it. Throws GatewayError 400 or 503. */
    exchange<Body> (this: { request: { body: Body } }): Exchange<Body>
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
  app.decorateReply('exchange', function <Body> (this: ReplyWith<Body>): Exchange<Body> {
    const { request, raw } = this
    const { apiKey, body, record } = request
    if (hasWebhook(body) && request.routeOptions.config.startsJobs !== true) throw noJobForWebhook()
    record.isStream = wantsStream(body)
    if (record.isStream && app.load.isFull('streams', request.keyLoad)) throw overloaded()
    const options = readRequestOptions(request.headers)
    const abort = abortOnDisconnect(raw, app.running)
    const payer = { key: apiKey.id, chain: apiKey.chainAt(app.store.clock()), tags: tagsOf(request) }
    return {
      ...options,
      body,
      rawBody: request.jsonText,
      requestId: request.id,
      payer,
      mayUse: model => apiKey.mayUse(model),
      regions: apiKey.regions,
      signal: abort.signal,
      giveUp: reason => abort.abort(reason),
      record,
      extraHeaders: {},
      listener: null,
      hooks: app.extensions === null ? null : app.extensions.begin(this, payer, abort.signal),
      delivery: deliveryTo(this, abort.signal)
    }
  })
}, { name: 'exchange', dependencies: ['store', 'models', 'auth', 'extensions', 'json-body', 'overload', 'request-record', 'graceful-close'] })

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
  whenClosed(response, () => {
    running.delete(controller)
    if (!response.writableEnded) controller.abort(clientLeft())
  })
  return controller
}

/** Sends the response of a use case through a reply: whole, as an event stream, or after a long poll. */
function deliveryTo (reply: FastifyReply, signal: AbortSignal): Delivery {
  const { raw } = reply
  let alive: KeepAlive | null = null

  function life (sign: Uint8Array, headers: OutgoingHttpHeaders): StreamLife {
    let hasBegun = false
    const running = alive = new KeepAlive(() => {
      if (raw.destroyed || raw.writableEnded || raw.writableNeedDrain) return
      hasBegun ||= begin(reply, headers)
      raw.write(sign)
    })
    return { get hasBegun () { return hasBegun && !raw.writableEnded }, stop: () => running.stop() }
  }

  return {
    json: (headers, body, text) => {
      reply.request.record.firstByteAtMs = performance.now()
      if (raw.headersSent) {
        raw.end(text ?? reply.serialize(body))
        return
      }
      reply.headers(headers).type('application/json; charset=utf-8').send(text ?? body)
    },
    stream: (headers, events, encodeError) =>
      sendEvents(reply, { headers, events, encodeError, onWrite: () => alive?.written() }, signal),
    keepAlive: event => life(event, streamHeaders),
    keepWholeAlive () {
      const whole = life(blank, heldHeaders)
      return {
        get hasBegun () { return whole.hasBegun },
        stop: () => whole.stop(),
        fail: error => { raw.end(failureText(reply.request, error)) }
      }
    },
    longPoll: () => longPollOf(reply)
  }
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // nginx would otherwise collect events before it passes them on.
  'x-accel-buffering': 'no'
}

const blank = Buffer.from(' ')

/** Sends status 200 and the headers, unless they were sent. Returns whether it was the first to do so. */
function begin (reply: FastifyReply, headers: OutgoingHttpHeaders): boolean {
  const { raw } = reply
  if (raw.headersSent) return false
  reply.hijack()
  reply.headers(headers)
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
  return true
}

interface Sent {
  headers: Record<string, string>
  events: Events
  encodeError: EncodeError
  onWrite: () => void
}

async function sendEvents (
  reply: FastifyReply, { headers, events, encodeError, onWrite }: Sent, signal: AbortSignal
): Promise<void> {
  const { raw, request } = reply
  // Counted as long as the client reads, which may be longer than the provider writes.
  whenClosed(raw, request.server.load.enter('streams', request.keyLoad))
  begin(reply, { ...headers, ...streamHeaders })
  const sink: EventSink = {
    write (bytes) {
      // The call aborts, or is read to its end for its usage.
      if (raw.destroyed) return true
      request.record.firstByteAtMs ??= performance.now()
      onWrite()
      return raw.write(bytes)
    },
    drained: () => once(raw, 'drain', { signal })
  }
  try {
    if ('pipeTo' in events) await events.pipeTo(sink)
    else for await (const bytes of events) if (!sink.write(bytes)) await sink.drained()
  } catch (error) {
    if (raw.destroyed) return
    // When it was the gateway that gave up, it said why.
    const failure: unknown = signal.aborted ? signal.reason : error
    const gatewayError = toGatewayError(failure)
    request.record.failure = gatewayError
    recordEnding(request.record, failure, gatewayError.code)
    raw.write(encodeError(gatewayError))
  }
  raw.end()
}

/** The body for a failure after status 200, which is recorded. */
function failureText (request: FastifyRequest, thrown: unknown): string {
  const error = toGatewayError(thrown)
  request.record.failure = error
  recordEnding(request.record, thrown, error.code)
  return speaksMessages(request) ? messagesErrorText(error, request.id) : errorText(error)
}

function longPollOf (reply: FastifyReply): LongPollResponse {
  // The request may have come long before.
  const closeIfDraining = () => { if (reply.server.isDraining()) reply.header('connection', 'close') }
  return {
    raw: reply.raw,
    send (headers, body) {
      closeIfDraining()
      reply.headers(headers).type('application/json; charset=utf-8').send(body)
    },
    fail (error) {
      closeIfDraining()
      reply.send(error)
    },
    commit (headers) {
      closeIfDraining()
      reply.hijack()
      reply.raw.writeHead(200, { ...reply.getHeaders(), ...headers } as OutgoingHttpHeaders)
    },
    serialize: body => reply.serialize(body).toString()
  }
}
