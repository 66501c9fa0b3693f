import { isDeepStrictEqual } from 'node:util'
import { createAnswerLengths, quoteChat, type ChatQuote } from '../billing/chat-quote.ts'
import { leastMeans } from '../billing/max-cost.ts'
import { promptSize } from '../billing/prompt-size.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { createReport, hasOutput, isCounted } from '../providers/report.ts'
import { CallCounts, isAbandoned, recordStreamEnd, type Attempt } from '../requests/attempt.ts'
import { isPolicy, planFor, tokenLimitsOf, type Candidate } from '../requests/candidates.ts'
import { isWorkLost } from '../requests/classify-failure.ts'
import type { Settled } from '../requests/delivery.ts'
import type { Incoming } from '../requests/incoming.ts'
import { endTrace, setCandidate } from '../requests/trace.ts'
import { RequestDeadline, tryCandidates } from '../requests/try-candidates.ts'
import { conversationHint, conversationId } from '../shared/conversation.ts'
import { GatewayError } from '../shared/errors.ts'
import { peekFirst } from '../providers/upstream/peek-first.ts'
import { noteExcess, onlyFitting } from './context-window.ts'
import { deliverAnswer } from './deliver-answer.ts'
import { completeByChat } from './legacy.ts'
import { extrasOf, onlyPriced, onlyServed } from './request-checks.ts'
import type { Answer, AnyRequest, Ask, Chat, ChatOptions, Selected, Serving, Way } from './types.ts'

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
    const serving = await begin(given, way, auto)
    const { incoming, hold } = serving
    running++
    try {
      const attempt = await findAnswer(serving, callSignal)
      recordAttempt(serving, attempt)
      if (attempt.answer.kind !== 'json') serving.deadline.streamBegan()
      const delivering = deliverAnswer(incoming, attempt.answer, () => settleNow(serving))
      if (delivering !== undefined) await delivering
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
  async function begin<Request extends AnyRequest> (
    given: Incoming<Request>, way: Way<Request>, auto: Selected
  ): Promise<Serving<Request>> {
    const { ask, limits, native } = way
    const { requestId, payer, signal, mayUse, trace } = given
    const incoming = withoutOwnFields(given)
    const { request } = incoming
    const { model, fallbacks } = auto ?? given.request
    const allowDearer = auto !== null || limits.allowDearerFallbacks
    const bodyBytes = Math.max(incoming.text.bytes.length, native.bodyBytes ?? 0)
    const question = { kind: 'chat' as const, model, fallbacks, promptBound: bodyBytes, allowDearer, mayUse }
    const all = onlyServed(planFor(question, catalogue), native.speaks)
    const priced = onlyPriced(native.narrow === undefined ? all : native.narrow(all), request)
    const prompt = promptSize(request, bodyBytes)
    const plan = native.mayShorten === true ? priced : await onlyFitting(priced, request, prompt)
    const deadline = new RequestDeadline(given, limits)
    const hold = holds(payer, requestId, { signal, dueMs: deadline.dueMs })
    trace.isOpen = true
    return {
      ask,
      native,
      limits,
      incoming,
      auto,
      plan,
      deadline,
      hold,
      prompt,
      calls: new CallCounts(),
      covered: null,
      quote: null,
      terms: null,
      begun: null,
      mayCostMore: false
    }
  }

  function findAnswer<Request extends AnyRequest> (
    serving: Serving<Request>, callSignal: AbortSignal
  ): Promise<Attempt<Candidate<ChatProvider>, Answer>> {
    const { incoming, plan, limits, auto, deadline } = serving
    const { request, requestId, payer: { key }, clientRetries, conversation, signal, trace } = incoming
    // Where the call costs nothing more once it is closed. `signal` aborts whenever `callSignal` does.
    const endingWithClient = ({ provider }: Candidate<ChatProvider>, called: AbortSignal): AbortSignal => {
      if (provider.stopsOnDisconnect !== true) return called
      return called === callSignal ? signal : AbortSignal.any([called, signal])
    }
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
      ask: (candidate, signal) => ask(serving, candidate, endingWithClient(candidate, signal)),
      patience: auto?.patience,
      tokensOf: answer => answer.kind === 'json' ? answer.report.usage?.completion ?? 0 : null,
      onFailure: (candidate, error) => onFailure(requestId, candidate, error),
      random,
      conversation: () => conversationId(key, request, conversation)
    })
  }

  /** Holds what a candidate may cost, unless just that is held: at once if the node can grant it. */
  function cover<Request extends AnyRequest> (
    serving: Serving<Request>, candidate: Candidate<ChatProvider>
  ): void | Promise<void> {
    const { incoming: { request, payer, trace }, hold, auto, native, prompt } = serving
    const { model, price } = candidate
    const limits = tokenLimitsOf(candidate)
    const terms = { ...extrasOf(request, candidate), ...native.extras?.(candidate), ...limits }
    const { covered: last } = serving
    if (last?.model === model && last.price === price && isDeepStrictEqual(terms, serving.terms)) return
    serving.covered = null
    serving.quote = null
    serving.terms = terms
    const sale = {
      ...terms,
      limits,
      request,
      prompt,
      model,
      price,
      means: () => leastMeans(ledger, payer.chain),
      lengths,
      ceilingNano: auto?.ceilingNano ?? null,
      bestPrice: auto?.bestPrice ?? null
    }
    const onCovered = (quote: ChatQuote): void => {
      serving.covered = candidate
      serving.quote = quote
      trace.heldNano = quote.maxNano
    }
    const covered = hold.coverQuote(model.id, () => quoteChat(sale))
    return covered instanceof Promise ? covered.then(onCovered) : onCovered(covered)
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

/** Calls a candidate; resolves with its whole answer, or when a stream has begun. */
async function ask<Request extends AnyRequest> (
  serving: Serving<Request>, candidate: Candidate<ChatProvider>, signal: AbortSignal
): Promise<Answer> {
  const { incoming: { request, text, requestId, payer, conversation: named }, calls, quote, terms } = serving
  const { deployment, provider, health } = candidate
  serving.begun = null
  calls.begin(health)
  try {
    const answer = await serving.ask(candidate, {
      request,
      text,
      model: deployment.model,
      outputLimit: quote?.outputLimit ?? null,
      maxOutput: terms?.maxOutput ?? null,
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
    serving.mayCostMore = isWorkLost(error) && request.stream !== true && provider.stopsOnDisconnect !== true
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
  { incoming: { trace, signal }, auto, plan, covered, begun, mayCostMore }: Serving<Request>, error: unknown
): unknown {
  const failure = auto?.failureOf(error) ?? error
  if (trace.model === null) setCandidate(trace, covered ?? plan.asked[0])
  // The provider has worked on an answer that no client waits for any more.
  if (isAbandoned(signal) && isWorkLost(error)) {
    trace.report ??= begun ?? { ...createReport(), mayCostMore }
  }
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

/**
 * Charges what was delivered. Nothing is charged for a stream that the provider or a closing gateway ended
 * before its first text, or before its usage if the operator says so.
 */
function settleAnswer<Request extends AnyRequest> (
  { incoming: { request, trace, signal }, limits, hold, quote, covered }: Serving<Request>
): void {
  const { report, failure } = trace
  if (quote === null || report === null) return
  const isBroken = failure !== null && !isAbandoned(signal)
  if (isBroken && !(limits.chargeBrokenStreams ? hasOutput(report) : isCounted(report))) return
  trace.costNano = hold.settle(() => quote.chargeFor(report, covered?.cost), trace.provider) ?? trace.costNano
  if (covered !== null) noteExcess(covered, request, quote, report)
}

/** Does the same, and returns what the client is told about it. */
function settleNow<Request extends AnyRequest> (serving: Serving<Request>): Settled | Promise<Settled> {
  const { incoming: { trace }, hold } = serving
  settleAnswer(serving)
  if (hold.estimated === null) return { costNano: trace.costNano, estimate: null }
  return hold.estimated.then(costNano => {
    trace.costNano = costNano
    return { costNano, estimate: hold.estimatedUsage }
  })
}
