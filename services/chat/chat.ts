import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { createAnswerLengths, quoteChat, type ChatQuote } from '../billing/chat-quote.ts'
import { leastMeans } from '../billing/max-cost.ts'
import type { RequestsConfig } from '../catalogue/types.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type {
  ChatAnswer, ChatProvider, CompletionAnswer, NativeAnswer, ProviderCall
} from '../providers/provider.ts'
import { createReport, type StreamReport } from '../providers/report.ts'
import { countCalls, isAbandoned, recordStreamEnd, type Attempt, type Drains } from '../requests/attempt.ts'
import { isPolicy, planFor, type Candidate, type Catalogue, type Plan } from '../requests/candidates.ts'
import { type Incoming } from '../requests/incoming.ts'
import type { Settled } from '../requests/delivery.ts'
import type { RequestHold, RequestHolds } from '../requests/request-hold.ts'
import { endTrace, setCandidate, type Trace } from '../requests/trace.ts'
import { tryCandidates, startDeadline, type Deadline } from '../requests/try-candidates.ts'
import { conversationHint, conversationId } from '../shared/conversation.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { peekFirst } from '../upstream/peek-first.ts'
import type { AutoModel } from './auto-model.ts'
import { extrasOf, isSame, onlyPriced, onlyServed, type Extras } from './request-checks.ts'
import { deliverAnswer } from './deliver-answer.ts'
import { completeByChat } from './legacy.ts'

export interface Chat {
  /**
   * Serves `POST /v1/chat/completions`; throws GatewayError, UpstreamError or StoreUnavailable before the
   * first byte went out.
   */
  complete (incoming: Incoming<ChatCompletionRequest>, native?: Native): Promise<void>
  /** Serves `POST /v1/completions`, natively or through chat; throws like `complete`. */
  completeText (incoming: Incoming<CompletionRequest>): Promise<void>
  /** Resolves when no request is being served any more, with or without its client. */
  idle (): Promise<void>
}

/** How a request of another API than chat is answered by the providers that have that API too. */
export interface Native {
  /** Asks one; undefined if its provider does not have the API: then it is asked for a chat. */
  ask (
    candidate: Candidate<ChatProvider>, call: ProviderCall<ChatCompletionRequest>
  ): Promise<NativeAnswer | ChatAnswer> | undefined
  /**
   * Leaves out the candidates that cannot do what the chat request does not say. Throws GatewayError 400 when
   * none of those asked for is left. Absent: the chat request says all.
   */
  narrow?: (plan: Plan<Candidate<ChatProvider>>) => Plan<Candidate<ChatProvider>>
  /** Whether a candidate is asked in that API, so that it may have models which chat does not. */
  speaks?: (candidate: Candidate<ChatProvider>) => boolean
  /** What a candidate is asked for at a price of its own, beside what the chat request says. */
  extras?: (candidate: Candidate<ChatProvider>) => Partial<Extras>
  /** The length of what a provider is sent, if it can be longer than the chat request; bounds the prompt. */
  bodyBytes?: number
  /** What an answer depends on beside the chat request; absent: on nothing. */
  cacheKey?: unknown
}

interface ChatOptions {
  catalogue: Catalogue
  /** Read for each request, because the configuration may change. */
  config: () => { requests: RequestsConfig }
  ledger: Pick<Ledger, 'means'>
  holds: RequestHolds
  autoModel: AutoModel
  /** Receives requests to a policy before they are served; it may listen to the answer. */
  observe?: <Request extends AnyRequest>(incoming: Incoming<Request>) => Incoming<Request>
  drains: Drains
  /** Receives every call that failed, also when another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
  /** Receives requests for a whole answer that ended after their client had left. */
  onAbandoned: (requestId: string, trace: Trace) => void
  /** In [0, 1). */
  random?: () => number
}

type AnyRequest = ChatCompletionRequest | CompletionRequest
type Answer = ChatAnswer | CompletionAnswer | NativeAnswer
type Ask<Request> = (candidate: Candidate<ChatProvider>, call: ProviderCall<Request>) => Promise<Answer>

/** How a request is answered: how candidates are asked, and which ones. */
interface Way<Request> {
  ask: Ask<Request>
  native: Omit<Native, 'ask'>
  limits: RequestsConfig
}

/** What a policy has selected; null: the request names its model. */
type Selected = Awaited<ReturnType<AutoModel['select']>> | null

/** A request under way: what was decided about it, and how far it has come. */
interface Serving<Request> extends Way<Request> {
  incoming: Incoming<Request>
  auto: Selected
  plan: Plan<Candidate<ChatProvider>>
  deadline: Deadline
  hold: RequestHold
  calls: ReturnType<typeof countCalls>
  /** The candidate that the hold is for, its price, and what it is asked for beside tokens. */
  covered: Candidate | null
  quote: ChatQuote | null
  extras: Extras | null
  /** What is known of the answer of the last call that has begun one. */
  begun: StreamReport | null
}

/** Creates the use case: plan the candidates, hold the money, call until one answers, deliver, settle. */
export function createChat (options: ChatOptions): Chat {
  const { catalogue, ledger, holds, autoModel, observe, drains, onFailure, random = Math.random } = options
  let running = 0
  let onIdle = (): void => {}
  const lengths = createAnswerLengths()

  function serve<Request extends AnyRequest> (
    incoming: Incoming<Request>, ask: Ask<Request>, native: Way<Request>['native'] = {}
  ): Promise<void> {
    const { signal, request } = incoming
    const limits = options.config().requests
    const way = { ask, native, limits }
    if (request.stream === true) return answer(incoming, way, signal)
    const dueMs = performance.now() + limits.deadlineMs
    return drains.run(signal, dueMs, callSignal => answer(incoming, way, callSignal))
  }

  async function answer<Request extends AnyRequest> (
    received: Incoming<Request>, way: Way<Request>, callSignal: AbortSignal
  ): Promise<void> {
    const { request: { model: asked, stream }, requestId, signal, trace } = received
    trace.asked = asked
    const isAuto = isPolicy(asked)
    const given = isAuto && observe !== undefined ? observe(received) : received
    const auto = isAuto ? await autoModel.select(given, way.native.speaks !== undefined) : null
    const serving = begin(given, way, auto)
    const { incoming, hold } = serving
    running++
    try {
      const attempt = await findAnswer(serving, callSignal)
      recordAttempt(serving, attempt)
      await deliverAnswer(incoming, attempt.answer, () => settleNow(serving))
      recordDelivery(incoming, attempt)
    } catch (error) {
      throw failureOf(serving, error)
    } finally {
      serving.deadline.stop()
      serving.calls.end()
      settleAnswer(serving)
      hold.end()
      if (hold.estimated !== null) trace.costNano = await hold.estimated
      if (isAbandoned(signal) && stream !== true) options.onAbandoned(requestId, trace)
      endTrace(trace)
      if (--running === 0) onIdle()
    }
  }

  /** Plans a request and starts its time. Throws GatewayError 400 or 404. */
  function begin<Request extends AnyRequest> (
    given: Incoming<Request>, way: Way<Request>, auto: Selected
  ): Serving<Request> {
    const { limits, native } = way
    const { requestId, payer, signal, mayUse, trace } = given
    const incoming = withoutOwnFields(given)
    const { request } = incoming
    const { model, fallbacks } = auto ?? given.request
    const allowDearer = auto !== null || limits.allowDearerFallbacks
    const promptBound = bodyBytesOf(incoming, native)
    const question = { kind: 'chat' as const, model, fallbacks, promptBound, allowDearer, mayUse }
    const all = onlyServed(planFor(question, catalogue), native.speaks)
    const plan = onlyPriced(native.narrow === undefined ? all : native.narrow(all), request)
    const deadline = startDeadline(given, Math.min(given.deadlineMs ?? Infinity, limits.deadlineMs))
    const hold = holds(payer, requestId, { signal, dueMs: deadline.dueMs })
    trace.isOpen = true
    return {
      ...way,
      incoming,
      auto,
      plan,
      deadline,
      hold,
      calls: countCalls(),
      covered: null,
      quote: null,
      extras: null,
      begun: null
    }
  }

  function findAnswer<Request extends AnyRequest> (
    serving: Serving<Request>, callSignal: AbortSignal
  ): Promise<Attempt<Candidate<ChatProvider>, Answer>> {
    const { incoming, plan, limits, auto, deadline } = serving
    const { request, requestId, payer: { key }, clientRetries, conversation, signal, trace } = incoming
    return tryCandidates<Candidate<ChatProvider>, Answer>({
      plan,
      limits,
      key,
      clientRetries,
      signal,
      callSignal,
      trace,
      deadline,
      cover: candidate => cover(serving, candidate),
      ask: (candidate, signal) => ask(serving, candidate, signal),
      patience: auto?.patience,
      tokensOf: answer => answer.kind === 'json' ? answer.report.usage?.completion ?? 0 : null,
      onFailure: (candidate, error) => onFailure(requestId, candidate, error),
      random,
      conversation: () => conversationId(key, request, conversation)
    })
  }

  /** Holds what a candidate may cost, unless just that is held. */
  async function cover<Request extends AnyRequest> (
    serving: Serving<Request>, candidate: Candidate<ChatProvider>
  ): Promise<void> {
    const { incoming, hold, auto, covered, native } = serving
    const { request, payer, trace } = incoming
    const { model, price } = candidate
    const extras = extrasOf(request, candidate)
    if (native.extras !== undefined) Object.assign(extras, native.extras(candidate))
    if (covered?.model === model && covered.price === price && isSame(extras, serving.extras)) return
    serving.covered = null
    serving.quote = null
    serving.extras = extras
    const sale = {
      ...extras,
      request,
      bodyBytes: bodyBytesOf(incoming, native),
      model,
      price,
      means: () => leastMeans(ledger, payer.chain),
      lengths,
      ceilingNano: auto?.ceilingNano ?? null,
      bestPrice: auto?.bestPrice ?? null
    }
    const quote = await hold.coverQuote(model.id, () => quoteChat(sale))
    serving.covered = candidate
    serving.quote = quote
    trace.heldNano = quote.maxNano
  }

  return {
    complete: (incoming, native) => serve(incoming, (candidate, call) => {
      return native?.ask(candidate, call) ?? candidate.provider.chat(call)
    }, native),
    completeText: incoming => {
      // A policy chooses among chat models, which OpenAI's legacy endpoint does not serve.
      const byChat = isPolicy(incoming.request.model)
      return serve(incoming, ({ provider }, call) => {
        return (byChat ? undefined : provider.complete?.(call)) ?? completeByChat(provider, call)
      })
    },
    idle: async () => {
      if (running > 0) await new Promise<void>(resolve => { onIdle = resolve })
    }
  }
}

function bodyBytesOf ({ text }: Incoming<unknown>, { bodyBytes = 0 }: Omit<Native, 'ask'>): number {
  return Math.max(text.bytes.length, bodyBytes)
}

/** Calls a candidate; resolves with its whole answer, or when a stream has begun. */
async function ask<Request extends AnyRequest> (
  serving: Serving<Request>, candidate: Candidate<ChatProvider>, signal: AbortSignal
): Promise<Answer> {
  const { incoming: { request, text, requestId, payer, conversation: named }, calls, quote } = serving
  const { deployment, model: { maxOutput }, health } = candidate
  serving.begun = null
  calls.begin(health)
  try {
    const answer = await serving.ask(candidate, {
      request,
      text,
      model: deployment.model,
      outputLimit: quote?.outputLimit ?? null,
      maxOutput,
      held: quote?.held ?? null,
      conversation: () => conversationHint(payer.key, request, named),
      requestId,
      signal
    })
    serving.begun = answer.report
    // A failure before the first chunk of a translated stream can still be retried.
    return answer.kind === 'chunks' ? await withFirstChunk(answer) : answer
  } catch (error) {
    calls.failed(health)
    throw error
  }
}

async function withFirstChunk (answer: Extract<Answer, { kind: 'chunks' }>): Promise<Answer> {
  return { ...answer, chunks: await peekFirst<unknown>(answer.chunks) } as Answer
}

/** Records who answers, before the headers are sent that say so. */
function recordAttempt<Request extends AnyRequest> (
  serving: Serving<Request>, { candidate, answer }: Attempt<Candidate, Answer>
): void {
  const { incoming: { trace }, auto, quote } = serving
  setCandidate(trace, candidate)
  trace.report = answer.report
  // Another one at the same price may have answered.
  serving.covered = candidate
  trace.maxTokens = quote?.outputLimit ?? null
  trace.route = auto?.answered(candidate.model.id) ?? null
}

/** Records how a stream has ended in the health of its deployment. */
function recordDelivery ({ trace, signal }: Incoming<unknown>, attempt: Attempt<Candidate, Answer>): void {
  const { answer: { kind, report } } = attempt
  if (kind === 'json') return
  const isBroken = trace.failure !== null && !signal.aborted
  recordStreamEnd(attempt, isBroken ? 'broken' : report.usage?.completion ?? 0)
}

/** What the client gets for a failure; records what is known of the request. */
function failureOf<Request> (
  { incoming: { trace, signal }, auto, plan, covered, begun }: Serving<Request>, error: unknown
): unknown {
  const failure = auto?.failureOf(error) ?? error
  if (trace.model === null) setCandidate(trace, covered ?? plan.asked[0])
  // The provider has worked on an answer that no client waits for any more.
  if (isAbandoned(signal) && isWorkLost(error)) trace.report ??= begun ?? createReport()
  return signal.reason instanceof GatewayError ? signal.reason : failure
}

const ownFields = ['fallbacks', 'routing']

/** The request as providers get it: fields for the gateway alone are taken out. */
function withoutOwnFields<Request extends AnyRequest> (incoming: Incoming<Request>): Incoming<Request> {
  const { request, text } = incoming
  if (request.fallbacks === undefined && request.routing === undefined) return incoming
  return {
    ...incoming,
    text: text.without(ownFields),
    request: { ...request, fallbacks: undefined, routing: undefined }
  }
}

/** Whether the gateway gave up a call that the provider has received, rather than the provider failing. */
function isWorkLost (error: unknown): boolean {
  if (!(error instanceof UpstreamError) || error.sent === 'no') return false
  return error.kind === 'aborted' || (error.kind === 'timeout' && error.details.status === undefined)
}

/**
 * Charges what was delivered. Nothing is charged for a stream that the provider or a closing gateway ended
 * before its first text, or before its usage if the operator says so.
 */
function settleAnswer<Request> (
  { incoming: { trace, signal }, limits: { chargeBrokenStreams }, hold, quote, covered }: Serving<Request>
): void {
  const { report, failure } = trace
  if (quote === null || report === null) return
  const isBroken = failure !== null && !isAbandoned(signal)
  if (isBroken && !(chargeBrokenStreams ? hasOutput(report) : isCounted(report))) return
  trace.costNano = hold.settle(() => quote.chargeFor(report, covered?.cost), trace.provider) ?? trace.costNano
}

/** Does the same, and returns what the client is told about it. */
function settleNow<Request> (serving: Serving<Request>): Settled | Promise<Settled> {
  const { incoming: { trace }, hold } = serving
  settleAnswer(serving)
  if (hold.estimated === null) return { costNano: trace.costNano, estimate: null }
  return hold.estimated.then(costNano => {
    trace.costNano = costNano
    return { costNano, estimate: hold.estimatedUsage }
  })
}

/** Whether the provider has counted all of it. */
function isCounted ({ usage, isPartial, delivered, calls }: StreamReport): boolean {
  if (calls !== undefined) return calls.every(({ report }) => isCounted(report))
  return usage !== null && !isPartial && delivered.isEmpty
}

/** Whether the provider has generated anything, as far as is known. */
function hasOutput ({ usage, isPartial, delivered, calls }: StreamReport): boolean {
  if (calls !== undefined) return calls.some(({ report }) => hasOutput(report))
  return (usage !== null && !isPartial) || delivered.countedTokens > 0 || !delivered.isEmpty
}
