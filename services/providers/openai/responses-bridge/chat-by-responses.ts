import type { ChatCompletionChunk } from '../../../../schemas/openai/chat-completions.ts'
import { UpstreamError } from '../../../shared/errors.ts'
import { JsonText } from '../../../shared/json.ts'
import { translateNamedEvents } from '../../named-events.ts'
import type { ChatApi, ChatCall, ChatResponse } from '../../provider.ts'
import { createReport, type StreamReport } from '../../report.ts'
import { isEventStream, objectOf, parseResponse, readText } from '../../upstream/read-response.ts'
import type { UpstreamResponse } from '../../upstream/response.ts'
import type { Dialect } from '../dialects.ts'
import { rowOf } from '../request.ts'
import { createResponseReader, recordResponse, type ReadOptions } from '../responses/read-response.ts'
import type { SendResponseRequest } from '../responses/send-request.ts'
import { asChunks } from '../whole-and-streamed.ts'
import { CompletionChunks } from './completion-chunks.ts'
import { withChatParam } from './refused-param.ts'
import { toChatResponse } from './to-chat-response.ts'
import { toResponseRequest, type TranslationOptions } from './to-response-request.ts'

interface Bridge {
  send: SendResponseRequest
  dialect: Dialect
  /** Masked in errors. */
  secret: string | null
}

/** Chat through a provider's Responses API: the request and its response are translated. */
export function createChatByResponses ({ send, dialect, secret }: Bridge): ChatApi['chat'] {
  const { reasoningFormat } = dialect
  /** Models whose reasoning is not summarized, or not for this organization. */
  const withoutSummaries = new Set<string>()

  /** Sends a request; again without what the server refuses: a summary, another organization's reasoning. */
  async function post (call: ChatCall, options: TranslationOptions): ReturnType<SendResponseRequest> {
    const { body, dropped } = toResponseRequest(call.body, options)
    const original = JsonText.from(body)
    try {
      const sent = await send({ ...call, original, edits: new Map(), maxSearches: 0, keepsReasoning: true })
      return { ...sent, dropped: [...dropped, ...sent.dropped] }
    } catch (refusal) {
      const less = withoutRefused(options, refusal)
      if (less === null) throw refusal instanceof UpstreamError ? withChatParam(refusal) : refusal
      const sent = await post(call, less)
      // Recorded only after the retry succeeded.
      if (!less.summarizes) withoutSummaries.add(call.model)
      return sent
    }
  }

  return async (call): Promise<ChatResponse> => {
    const { body: request, model } = call
    const { phases = false } = rowOf(dialect.rules, model)
    const summarizes = !withoutSummaries.has(model)
    const { upstream, dropped } = await post(call, { format: reasoningFormat, phases, summarizes })
    const report = createReport(dropped)
    const options = { dialect, secret, countsSearches: false }
    if (request.stream === true && isEventStream(upstream)) {
      const chunks = new CompletionChunks(model, reasoningFormat)
      return { kind: 'chunks', chunks: readChunks(upstream, chunks, report, options), report }
    }
    const response = objectOf(await parseResponse(await readText(upstream)))
    recordResponse(report, response, options)
    const completion = toChatResponse(response, model, reasoningFormat)
    if (request.stream !== true) return { kind: 'json', body: completion, text: null, report }
    return { kind: 'chunks', chunks: asChunks<ChatCompletionChunk>(completion), report }
  }
}

/** Translates the events of a response, and records them. */
function readChunks (
  upstream: UpstreamResponse, chunks: CompletionChunks, report: StreamReport, options: ReadOptions
): AsyncIterable<ChatCompletionChunk> {
  const reader = createResponseReader(report, options)
  return translateNamedEvents(upstream, {
    take (body, event) {
      reader.take(body, event)
      return chunks.take(body)
    },
    get isDone () { return reader.isDone }
  })
}

/** The options without what a refusal is about; null: it is about something else. */
function withoutRefused (options: TranslationOptions, refusal: unknown): TranslationOptions | null {
  if (!(refusal instanceof UpstreamError) || refusal.details.status !== 400) return null
  const { message, details: { code, param } } = refusal
  const isAboutSummary = param === 'reasoning.summary' || /reasoning\.summary|reasoning summar/i.test(message)
  if (options.summarizes && isAboutSummary) return { ...options, summarizes: false }
  const isAboutPast = code === 'invalid_encrypted_content' || isAboutEncrypted(message)
  return options.format !== null && isAboutPast ? { ...options, format: null } : null
}

function isAboutEncrypted (message: string): boolean {
  return /encrypted content/i.test(message) && /verified|decrypted/i.test(message)
}
