import { recordFinish } from '../providers/report.ts'
import { isAbandoned } from '../requests/attempt.ts'
import type { Events, Settle, Settled } from '../requests/delivery.ts'
import type { Exchange } from '../requests/exchange.ts'
import { headersOf } from '../requests/request-record.ts'
import { usdText } from '../shared/money.ts'
import type { AnyRequest, ChatOrText, ClientApi, ResponseForms, WholeBody } from './client-api.ts'
import { collectEvents } from './collect-events.ts'
import { hookedResponse } from './hooked-response.ts'
import { encodeChunks, withCost, withCostAtEnd } from './report-cost.ts'

/**
 * Replies with a response in the form of the client's API. A whole one is settled first, so that the client
 * finds it in its balance; a stream whose client asked for usage is settled before its last chunk, which has
 * the cost. A client that has left gets nothing.
 */
export async function reply (
  exchange: Exchange<AnyRequest>, api: ClientApi<never>, received: ChatOrText, settle: Settle
): Promise<void> {
  const { body, record, signal, hooks } = exchange
  const response = hooks == null ? received : await hookedResponse(received, hooks, api)
  const { report } = response
  const headers = headersOf(record, report.dropped)
  if (response.kind === 'json') {
    recordFinish(report, response.body)
    const settled = await settle()
    if (isAbandoned(signal)) return
    const { costNano } = settled
    if (costNano !== null) headers['x-tollgate-cost'] = usdText(costNano)
    const isNative = response.native === true
    const whole = costNano === null || isNative ? response : withCost(response, settled)
    return await sendWhole(exchange, api, { headers, isNative, whole, settled })
  }
  if (response.native === true) {
    return await sendEvents(exchange, api, { headers, isNative: true, events: response.events, settle })
  }
  const settleLast = body.stream_options?.include_usage === true ? settle : null
  const events = response.kind === 'chunks'
    ? encodeChunks(response.chunks, report, settleLast)
    : settleLast === null ? response.events : withCostAtEnd(response.events, report, settleLast)
  await sendEvents(exchange, api, { headers, isNative: false, events, settle })
}

const comment = Buffer.from(': keep-alive\n\n')

/** Serves a streamed request, and keeps it alive. A failure after the first sign of life ends the stream. */
export async function keepAlive (
  exchange: Exchange<AnyRequest>, api: ResponseForms, serve: () => Promise<void>
): Promise<void> {
  const life = exchange.delivery.keepAlive(api.keepAlive ?? comment)
  try {
    await serve()
  } catch (error) {
    if (!life.hasBegun) throw error
    const settle = async (): Promise<Settled> => ({ costNano: null, estimate: null })
    await sendEvents(exchange, api, { headers: {}, isNative: false, events: failing(error), settle })
  } finally {
    life.stop()
  }
}

/**
 * Serves a request for a whole response, and keeps it alive. A failure after the first sign of life is the
 * body, because status 200 was sent.
 */
export async function keepWholeAlive (
  { delivery }: Pick<Exchange<AnyRequest>, 'delivery'>, serve: () => Promise<void>
): Promise<void> {
  const life = delivery.keepWholeAlive()
  try {
    await serve()
  } catch (error) {
    if (!life.hasBegun) throw error
    life.fail(error)
  } finally {
    life.stop()
  }
}

async function * failing (error: unknown): AsyncGenerator<Uint8Array, void, undefined> {
  throw error
}

/** `isNative`: a provider with the client's API has written it; else it is OpenAI's. */
interface Sending { headers: Record<string, string>, isNative: boolean }

/** Sends a whole response. */
export async function sendWhole (
  { delivery, extraHeaders, listener }: Exchange<AnyRequest>, api: ResponseForms,
  { headers, isNative, whole, settled }: Sending & { whole: WholeBody, settled: Settled }
): Promise<void> {
  if (listener !== null) {
    const bytes = Buffer.from(whole.text ?? JSON.stringify(whole.body))
    listener.onSent({ kind: 'json', bytes, headers, isNative })
  }
  const { body, text } = await (isNative ? api.native : api.form).whole(whole, settled)
  delivery.json({ ...headers, ...extraHeaders }, body, text)
}

/** Sends an event stream; resolves at its end, or when the client has disconnected. */
export async function sendEvents (
  { delivery, extraHeaders, listener }: Exchange<AnyRequest>, api: ResponseForms,
  { headers, isNative, events, settle }: Sending & { events: Events, settle: Settle }
): Promise<void> {
  const collected = listener === null ? null : collectEvents(events, listener)
  const heard = collected?.events ?? events
  const formed = (isNative ? api.native : api.form).stream(heard, settle)
  await delivery.stream({ ...headers, ...extraHeaders }, formed.events, formed.encodeError)
  collected?.pass({ headers, isNative })
}
