import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { createAnswerLengths, leastMeans, quoteChat, type ChatQuote } from '../billing/chat-quote.ts'
import type { RequestsConfig } from '../catalogue/types.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type {
  ChatAnswer, ChatProvider, CompletionAnswer, NativeAnswer, ProviderCall
} from '../providers/provider.ts'
import { createReport, type StreamReport } from '../providers/report.ts'
import { countCalls, isAbandoned, recordStreamEnd, type Drains } from '../requests/attempt.ts'
import { isPolicy, planFor, type Candidate, type Catalogue, type Plan } from '../requests/candidates.ts'
import { type Incoming } from '../requests/incoming.ts'
import type { RequestHold, RequestHolds } from '../requests/request-hold.ts'
import { endTrace, recordingCalls, setCandidate, type Trace } from '../requests/trace.ts'
import { tryCandidates, startDeadline } from '../requests/try-candidates.ts'
import { conversationHint, conversationId } from '../shared/conversation.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { outputLimitOf } from '../shared/request-fields.ts'
import { peekFirst } from '../upstream/peek-first.ts'
import type { AutoModel } from './auto-model.ts'
import { extrasOf, isSame, onlyPriced, type Extras } from './request-checks.ts'
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
  /** Asks one; undefined if the provider does not have the API: then it is asked for a chat. */
  ask (provider: ChatProvider, call: ProviderCall<ChatCompletionRequest>): Promise<NativeAnswer> | undefined
  /**
   * Leaves out the candidates that cannot do what the chat request does not say. Throws GatewayError 400 when
   * none of those asked for is left. Absent: the chat request says all.
   */
  narrow?: (plan: Plan<Candidate<ChatProvider>>) => Plan<Candidate<ChatProvider>>
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
/** The candidate that the hold is for, and what it was asked for. */
interface Covered { by: Candidate | null, quote: ChatQuote | null, extras: Extras | null }
type Ask<Request> = (provider: ChatProvider, call: ProviderCall<Request>) => Promise<Answer>
/** How candidates are asked, and which ones. */
interface Way<Request> { ask: Ask<Request>, narrow: Narrow }
type Narrow = NonNullable<Native['narrow']>

/** Creates the use case: plan the candidates, hold the money, call until one answers, deliver, settle. */
export function createChat (options: ChatOptions): Chat {
  const { catalogue, ledger, holds, autoModel, observe, drains, onFailure, random = Math.random } = options
  let running = 0
  let onIdle = (): void => {}
  const lengths = createAnswerLengths()

  async function serve<Request extends AnyRequest> (
    incoming: Incoming<Request>, ask: Ask<Request>, narrow: Narrow = plan => plan
  ): Promise<void> {
    const { signal, request } = incoming
    const limits = options.config().requests
    if (request.stream === true) return await answer(incoming, { ask, narrow }, limits, signal)
    const dueMs = performance.now() + limits.deadlineMs
    return await drains.run(signal, dueMs, call => answer(incoming, { ask, narrow }, limits, call))
  }

  async function answer<Request extends AnyRequest> (
    received: Incoming<Request>, way: Way<Request>, limits: RequestsConfig, callSignal: AbortSignal
  ): Promise<void> {
    const { trace, signal, payer, requestId, mayUse } = received
    const { ask, narrow } = way
    trace.asked = received.request.model
    const isAuto = isPolicy(trace.asked)
    const given = isAuto && observe !== undefined ? observe(received) : received
    const auto = isAuto ? await autoModel.select(given) : null
    const { model, fallbacks } = auto ?? { model: trace.asked, fallbacks: given.request.fallbacks }
    const incoming = withoutOwnFields(given)
    const { request, text } = incoming
    const bodyBytes = text.bytes.length
    const allowDearer = auto !== null || limits.allowDearerFallbacks
    const plan = onlyPriced(narrow(planFor(
      { kind: 'chat', model, fallbacks, promptBound: bodyBytes, allowDearer, mayUse }, catalogue)), request)
    const deadline = startDeadline(given, Math.min(given.deadlineMs ?? Infinity, limits.deadlineMs))
    const hold = holds(payer, requestId, { signal, dueMs: deadline.dueMs })
    const means = () => leastMeans(ledger, payer.chain)
    const covered: Covered = { by: null, quote: null, extras: null }
    const calls = countCalls()
    let begunReport: StreamReport | null = null
    trace.isOpen = true
    running++
    try {
      const attempt = await tryCandidates<Candidate<ChatProvider>, Answer>({
        plan,
        limits,
        key: payer.key,
        clientRetries: given.clientRetries,
        signal,
        callSignal,
        trace,
        dueMs: deadline.dueMs,
        async cover (candidate) {
          const { model, price } = candidate
          const extras = extrasOf(request, candidate)
          const { by } = covered
          if (by?.model === model && by.price === price && isSame(extras, covered.extras)) return
          Object.assign(covered, { by: null, quote: null, extras })
          const { ceilingNano = null, bestPrice = null } = auto ?? {}
          const sale = { request, bodyBytes, model, price, means, lengths, ceilingNano, bestPrice, ...extras }
          const quote = await hold.coverQuote(model.id, () => quoteChat(sale))
          Object.assign(covered, { by: candidate, quote })
          trace.heldNano = quote.maxNano
        },
        ask: recordingCalls(trace, async ({ provider, deployment, model: { maxOutput }, health }, signal) => {
          const { outputLimit = null, held = null } = covered.quote ?? {}
          const bounds = { outputLimit, maxOutput, held }
          const conversation = () => conversationHint(payer.key, request, given.conversation)
          const call = { request, text, model: deployment.model, ...bounds, conversation, requestId, signal }
          begunReport = null
          calls.begin(health)
          try {
            const answer = await ask(provider, call)
            begunReport = answer.report
            return await begun(answer)
          } catch (error) {
            calls.failed(health)
            throw error
          }
        }),
        ...(auto === null ? {} : { patience: patienceFor(request, auto.outputTokens) }),
        tokensOf: answer => answer.kind === 'json' ? answer.report.usage?.completion ?? 0 : null,
        onFailure: (candidate, error) => onFailure(requestId, candidate, error),
        random,
        conversation: () => conversationId(payer.key, request, given.conversation)
      })
      const { candidate, answer } = attempt
      setCandidate(trace, candidate)
      trace.report = answer.report
      // Another one at the same price may have answered.
      covered.by = candidate
      trace.maxTokens = covered.quote?.outputLimit ?? null
      trace.route = auto?.answered(candidate.model.id) ?? null
      await deliverAnswer(incoming, answer, async () => {
        settleAnswer(hold, covered, incoming, limits)
        if (hold.estimated !== null) trace.costNano = await hold.estimated
        return { costNano: trace.costNano, estimate: hold.estimatedUsage }
      })
      if (answer.kind !== 'json') {
        const isBroken = trace.failure !== null && !signal.aborted
        recordStreamEnd(attempt, isBroken ? 'broken' : answer.report.usage?.completion ?? 0)
      }
    } catch (error) {
      auto?.failed()
      if (trace.model === null) setCandidate(trace, covered.by ?? plan.asked[0])
      // The provider has worked on an answer that no client waits for any more.
      if (isAbandoned(signal) && isWorkLost(error)) trace.report ??= begunReport ?? createReport()
      if (signal.reason instanceof GatewayError) throw signal.reason
      throw auto !== null && isMissing(error) ? noneServed(error) : error
    } finally {
      deadline.stop()
      calls.end()
      settleAnswer(hold, covered, incoming, limits)
      hold.end()
      if (hold.estimated !== null) trace.costNano = await hold.estimated
      if (isAbandoned(signal) && request.stream !== true) options.onAbandoned(requestId, trace)
      endTrace(trace)
      if (--running === 0) onIdle()
    }
  }

  return {
    complete: (incoming, native) => serve(incoming, (provider, call) => {
      return native?.ask(provider, call) ?? provider.chat(call)
    }, native?.narrow),
    completeText: incoming => {
      // A policy chooses among chat models, which OpenAI's legacy endpoint does not serve.
      const byChat = isPolicy(incoming.request.model)
      return serve(incoming, (provider, call) => {
        return (byChat ? undefined : provider.complete?.(call)) ?? completeByChat(provider, call)
      })
    },
    idle: async () => {
      if (running > 0) await new Promise<void>(resolve => { onIdle = resolve })
    }
  }
}

/** How much longer than usual a provider may be silent before a policy goes elsewhere. */
const patience = { factor: 2, moreMs: 100, answerFactor: 3 }

/** How long to wait for a candidate of a policy, by what is usual for it; null while that is not known. */
function patienceFor (request: AnyRequest, expectedTokens: number) {
  const most = Math.min(expectedTokens * patience.answerFactor, outputLimitOf(request) ?? Infinity)
  const tokens = request.stream === true ? null : most * (request.n ?? 1)
  return ({ health }: Candidate): number | null => {
    const usualMs = health.statistics.usualWaitMs(tokens)
    return usualMs === null ? null : usualMs * patience.factor + patience.moreMs
  }
}

/** The request as providers get it: fields for the gateway alone are taken out. */
function withoutOwnFields<Request extends AnyRequest> (incoming: Incoming<Request>): Incoming<Request> {
  const { request, text } = incoming
  if (request.fallbacks === undefined && request.routing === undefined) return incoming
  return {
    ...incoming,
    text: text.without('fallbacks').without('routing'),
    request: { ...request, fallbacks: undefined, routing: undefined }
  }
}

/** Waits for the first chunk of a translated stream, because a failure before it can still be retried. */
async function begun (answer: Answer): Promise<Answer> {
  if (answer.kind !== 'chunks') return answer
  return { ...answer, chunks: await peekFirst<unknown>(answer.chunks) } as Answer
}

/** Whether the gateway gave up a call that the provider has received, rather than the provider failing. */
function isWorkLost (error: unknown): boolean {
  if (!(error instanceof UpstreamError) || error.sent === 'no') return false
  return error.kind === 'aborted' || (error.kind === 'timeout' && error.details.status === undefined)
}

const isMissing = (error: unknown): boolean => error instanceof UpstreamError && error.kind === 'not_found'

/** 503 for a policy: the client named none of these models, and they are left out from now on. */
function noneServed (cause: unknown): GatewayError {
  return GatewayError.unavailable('The providers do not serve the models that were tried. Please try again.',
    { code: 'model_unavailable', cause })
}

/**
 * Charges what was delivered. Nothing is charged for a stream that the provider or a closing gateway ended
 * before its first text, or before its usage if the operator says so.
 */
function settleAnswer (
  hold: RequestHold,
  { quote, by }: { quote: ChatQuote | null, by: Candidate | null },
  { trace, signal }: Pick<Incoming<unknown>, 'trace' | 'signal'>,
  { chargeBrokenStreams }: Pick<RequestsConfig, 'chargeBrokenStreams'>
): void {
  const { report, failure } = trace
  if (quote === null || report === null) return
  const isBroken = failure !== null && !isAbandoned(signal)
  if (isBroken && !(chargeBrokenStreams ? hasOutput(report) : isCounted(report))) return
  trace.costNano = hold.settle(() => quote.chargeFor(report, by?.cost), trace.provider) ?? trace.costNano
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
