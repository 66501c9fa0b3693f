import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../../schemas/openai/completions.ts'
import type { RoutingSettings } from '../../../schemas/config/routing.ts'
import type { Payer } from '../../billing/payer.ts'
import type { Exchange } from '../../requests/exchange.ts'
import { createRequestRecord } from '../../requests/request-record.ts'
import type { FeedbackStore } from '../../routing/feedback/store-feedback.ts'
import type { Router } from '../../routing/router.ts'
import { promptText } from '../../routing/text/prompt-text.ts'
import { GatewayError } from '../../shared/errors.ts'
import { JsonText } from '../../shared/json.ts'
import { outputLimitOf } from '../../shared/request-fields.ts'
import { recording } from '../cache/recorder.ts'
import type { Chat } from '../types.ts'
import { responseText } from './response-text.ts'
import { judgeMessages, readScores } from './judge.ts'

/** Who pays for a comparison, and which models it may use. */
export interface ShadowPayer { payer: Payer, mayUse: (model: string) => boolean }

interface ShadowOptions {
  /** Answers the second model's request and the judge's. */
  chat: () => Pick<Chat, 'complete'>
  router: Pick<Router, 'decide'>
  feedback: FeedbackStore
  /** Called for each request, because the configuration may change. */
  settings: () => RoutingSettings['shadow']
  /** Throws GatewayError 401 for a key that is not valid. */
  payerOf: (key: string) => Promise<ShadowPayer>
  onError: (requestId: string, error: unknown) => void
  random?: () => number
}

/** Comparisons at a time on one node; the sample needs no more, and clients come first. */
const maxRunning = 2
const maxResponseBytes = 1_000_000
const outputTokens = { answer: 2_000, judge: 4_000 }

/**
 * For a sample of the requests to a policy, asks another candidate too after the client has its answer, lets
 * a judge compare the two and stores both scores as feedback. Clients wait for none of it.
 */
export function createShadow (options: ShadowOptions) {
  const { chat, router, feedback, settings, onError, random = Math.random } = options
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()

  function observe<Request extends ChatCompletionRequest | CompletionRequest> (
    exchange: Exchange<Request>
  ): Exchange<Request> {
    const { body, requestId, delivery, record } = exchange
    const shadow = settings()
    if (shadow === null || !('messages' in body) || !isComparable(body)) return exchange
    if (random() >= shadow.share || running.size >= maxRunning || stopping.signal.aborted) return exchange
    return {
      ...exchange,
      delivery: recording(delivery, maxResponseBytes, ({ kind, bytes }) => {
        const text = responseText(kind, bytes)
        const served = record.model
        if (text === null || served === null) return
        const comparison = compare({ ...exchange, body }, shadow, { model: served, text })
          .catch(error => { if (!stopping.signal.aborted) onError(requestId, error) })
          .finally(() => { running.delete(comparison) })
        running.add(comparison)
      })
    }
  }

  /** Another candidate than the one that answered, and what was expected of both; null: there is none. */
  function choose (request: ChatCompletionRequest, own: ShadowPayer, served: string) {
    const { ranked, domain } = router.decide({
      request,
      key: own.payer.key,
      mayUse: own.mayUse,
      conversation: null,
      candidates: null,
      availableNano: null
    })
    const others = ranked.filter(({ id }) => id !== served)
    const other = others[Math.floor(random() * others.length)]
    const expected = ranked.find(({ id }) => id === served)?.quality
    return other === undefined || expected === undefined ? null : { other, expected, domain }
  }

  async function compare (
    { body: request, requestId, payer: { key } }: Exchange<ChatCompletionRequest>,
    shadow: NonNullable<RoutingSettings['shadow']>,
    served: { model: string, text: string }
  ): Promise<void> {
    const own = await options.payerOf(shadow.key)
    const chosen = choose(request, own, served.model)
    if (chosen === null) return
    const { other, expected, domain } = chosen
    const id = `${requestId}/shadow`
    const call = (request: ChatCompletionRequest) => askFor(chat(), request, id, own, stopping.signal)
    const limit = outputLimitOf(request) === null ? { max_tokens: outputTokens.answer } : {}
    const text = await call({ ...withoutStream(request), model: other.id, ...limit })
    // The judge may prefer an answer for its place.
    const isSwapped = random() < 0.5
    const [first, second] = isSwapped ? [text, served.text] : [served.text, text]
    const messages = judgeMessages(promptText(request.messages), first, second)
    const scores = readScores(await call({ model: shadow.judge, messages, max_tokens: outputTokens.judge }))
    if (scores === null) throw new Error('The judge has answered without scores.')
    const routed = { key, domain }
    await feedback.storeJudged(requestId, { ...routed, model: served.model, expected },
      isSwapped ? scores.second : scores.first)
    await feedback.storeJudged(id, { ...routed, model: other.id, expected: other.quality },
      isSwapped ? scores.first : scores.second)
  }

  return {
    /** The request, whose answer is compared if it is in the sample. */
    observe,
    /** Gives up the comparisons under way, and resolves when they have ended. */
    async stop (): Promise<void> {
      stopping.abort(GatewayError.unavailable('The gateway is shutting down.'))
      await Promise.all(running)
    }
  }
}

/** Whether one text is the whole answer. */
function isComparable ({ tools, functions, modalities, n, messages }: ChatCompletionRequest): boolean {
  return (tools ?? functions ?? []).length === 0 && (n ?? 1) === 1 && !(modalities ?? []).includes('audio') &&
    messages.at(-1)?.role === 'user'
}

function withoutStream (request: ChatCompletionRequest): ChatCompletionRequest {
  const { stream, stream_options: options, routing, fallbacks, ...rest } = request
  return rest
}

/** The text of the answer to a request of the gateway itself. */
async function askFor (
  chat: Pick<Chat, 'complete'>,
  request: ChatCompletionRequest,
  requestId: string,
  { payer, mayUse }: ShadowPayer, signal: AbortSignal
): Promise<string> {
  let text: string | null = null
  await chat.complete({
    body: request,
    rawBody: JsonText.from(request),
    requestId,
    payer,
    mayUse,
    signal,
    giveUp: () => {},
    record: createRequestRecord(false),
    delivery: {
      json: (_headers, body, json) => {
        text =
        responseText('json', Buffer.from(json ?? JSON.stringify(body)))
      },
      stream: async () => { throw new TypeError('A request without stream was answered with one.') },
      longPoll: () => { throw new TypeError('A chat does not keep the response open.') }
    },
    deadlineMs: null,
    conversation: null,
    cache: null,
    clientRetries: null
  })
  if (text === null) throw new Error('The second model or the judge has answered without a text.')
  return text
}
