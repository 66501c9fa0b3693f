import type { RequestHooks } from '../extensions/request-hooks.ts'
import { asChunks } from '../providers/openai/whole-and-streamed.ts'
import { createReport } from '../providers/report.ts'
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Completion, CompletionRequest } from '../../schemas/openai/completions.ts'
import type { Settled } from '../requests/delivery.ts'
import type { Exchange } from '../requests/exchange.ts'
import { headersOf } from '../requests/request-record.ts'
import { JsonText } from '../shared/json.ts'
import type { AnyRequest, ClientApi } from './client-api.ts'
import { completionOfChat, completionOfChunk, legacyAsChat, legacyFromChat } from './legacy-hooks.ts'
import { checkChatRequest } from './request-checks.ts'
import { sendEvents, sendWhole } from './reply-chat.ts'
import { encodeChunks } from './report-cost.ts'

const free: Settled = { costNano: 0, estimate: null }

/**
 * Runs the plugins before a request is served: returns the exchange to serve, or null after a plugin's own
 * response. Throws PluginError, and GatewayError 400 for a prompt that plugins cannot read.
 */
export async function hookedRequest<Request extends AnyRequest> (
  received: Exchange<Request>, hooks: RequestHooks, api: ClientApi<Request>
): Promise<Exchange<Request> | null> {
  const { body } = received
  const chat = api.name === 'completions' ? legacyAsChat(body as CompletionRequest) : body as ChatCompletionRequest
  const call = await hooks.request({ kind: 'chat', body: chat })
  if ('completion' in call) {
    await respond(received, call.completion, api)
    return null
  }
  if (call.body === chat || call.kind !== 'chat') return received
  const changed = api.name === 'completions' ? legacyFromChat(call.body, body as CompletionRequest) : call.body
  if (api.name !== 'completions') checkChatRequest(call.body)
  // Each API has one form of request: that of its name.
  return { ...received, body: changed as Request, rawBody: JsonText.from(changed) }
}

/** Sends a plugin's own response, which is free. */
async function respond (
  exchange: Exchange<AnyRequest>, completion: ChatCompletion, api: ClientApi<never>
): Promise<void> {
  const { body, record } = exchange
  record.requestedModel = body.model
  record.costNano = 0
  const headers = { ...headersOf(record, []), 'x-tollgate-cost': '0' }
  const isLegacy = api.name === 'completions'
  if (body.stream !== true) {
    const whole = { body: isLegacy ? completionOfChat(completion) : completion, text: null }
    return await sendWhole(exchange, api, { headers, isNative: false, whole, settled: free })
  }
  const settle = async (): Promise<Settled> => free
  const chunks = isLegacy ? legacyChunks(completion) : asChunks<ChatCompletionChunk>(completion)
  const last = body.stream_options?.include_usage === true ? settle : null
  const events = encodeChunks(chunks, createReport(), last)
  await sendEvents(exchange, api, { headers, isNative: false, events, settle })
}

async function * legacyChunks (completion: ChatCompletion): AsyncGenerator<Completion> {
  for await (const chunk of asChunks<ChatCompletionChunk>(completion)) yield completionOfChunk(chunk)
}
