import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { Delivery, EncodeError, Events, LongPollResponse } from '../../services/requests/delivery.ts'
import { errorAnswer } from '../../services/http/error-answers.ts'
import { recordEnding } from '../../services/requests/trace.ts'
import type { EventSink } from '../../services/providers/provider.ts'
import { encodeEvent } from '../../services/upstream/sse.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** The way a use case answers this request. */
    toDelivery (signal: AbortSignal): Delivery
  }
}

/** Lets a use case answer through a reply: whole, as an event stream, or after a long poll. */
export default fp(async app => {
  app.decorateReply('toDelivery', function (signal) {
    return {
      json: (headers, body, text) => {
        const { trace, routeOptions: { config: { passThrough = false } } } = this.request
        trace.firstByteAtMs = performance.now()
        this.headers(headers).type('application/json; charset=utf-8').send(passThrough ? text ?? body : body)
      },
      stream: (headers, events, encodeError = openAiError) =>
        sendEvents(this, { headers, events, encodeError }, signal),
      longPoll: () => longPollOf(this)
    }
  })
}, { name: 'sse-reply', dependencies: ['trace', 'overload', 'graceful-close'] })

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // nginx would otherwise collect events before it passes them on.
  'x-accel-buffering': 'no'
}

const openAiError: EncodeError = error => encodeEvent(error.toBody())

interface Sent { headers: Record<string, string>, events: Events, encodeError: EncodeError }

async function sendEvents (
  reply: FastifyReply, { headers, events, encodeError }: Sent, signal: AbortSignal
): Promise<void> {
  const { raw, request } = reply
  // Counted as long as the client reads, which may be longer than the provider writes.
  raw.once('close', request.server.load.enter('streams', request.keyLoad))
  reply.hijack()
  reply.headers({ ...headers, ...streamHeaders })
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
  const sink: EventSink = {
    write (bytes) {
      request.trace.firstByteAtMs ??= performance.now()
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
    const answer = errorAnswer(failure)
    request.trace.failure = answer
    recordEnding(request.trace, failure, answer.code)
    raw.write(encodeError(answer))
  }
  raw.end()
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
