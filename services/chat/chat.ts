import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { quoteChat, type ChatQuote, leastAvailable } from '../billing/chat-quote.ts'
import type { RequestsConfig } from '../catalogue/types.ts'
import type { Ledger } from '../ledger/ledger.ts'
import {
  createReport, type ChatAnswer, type ChatProvider, type CompletionAnswer, type ProviderCall
} from '../providers/provider.ts'
import { recordStreamEnd } from '../requests/attempt.ts'
import { planFor, type Candidate, type Catalogue, isPolicy } from '../requests/candidates.ts'
import { type Incoming } from '../requests/incoming.ts'
import type { RequestHold, RequestHolds } from '../requests/request-hold.ts'
import { setCandidate, type Trace, headersOf } from '../requests/trace.ts'
import { tryCandidates, startDeadline } from '../requests/try-candidates.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { JsonText } from '../shared/json-text.ts'
import { usdText } from '../shared/money.ts'
import { peekFirst } from '../upstream/peek-first.ts'
import type { AutoModel } from './auto-model.ts'
import { encodeChunks } from './encode-chunks.ts'
import { completeByChat } from './legacy.ts'

export interface Chat {
  /**
   * Serves `POST /v1/chat/completions`; throws GatewayError, UpstreamError or StoreUnavailable before the
   * first byte went out.
   */
  complete (incoming: Incoming<ChatCompletionRequest>): Promise<void>
  /** Serves `POST /v1/completions`, natively or through chat; throws like `complete`. */
  completeText (incoming: Incoming<CompletionRequest>): Promise<void>
}

interface ChatOptions {
  catalogue: Catalogue
  /** Read for each request, because the configuration may change. */
  config: () => { requests: RequestsConfig }
  ledger: Pick<Ledger, 'availableHint'>
  holds: RequestHolds
  autoModel: AutoModel
  /** Receives every call that failed, also when another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
  /** In [0, 1). */
  random?: () => number
}

type AnyRequest = ChatCompletionRequest | CompletionRequest
type Answer = ChatAnswer | CompletionAnswer
type Ask<Request> = (provider: ChatProvider, call: ProviderCall<Request>) => Promise<Answer>

/** Creates the use case: plan the candidates, hold the money, call until one answers, deliver, settle. */
export function createChat (options: ChatOptions): Chat {
  const { catalogue, ledger, holds, autoModel, onFailure, random = Math.random } = options

  async function serve<Request extends AnyRequest> (
    given: Incoming<Request>, ask: Ask<Request>
  ): Promise<void> {
    const { trace, signal, payer, requestId, mayUse } = given
    const limits = options.config().requests
    trace.asked = given.request.model
    const auto = isPolicy(trace.asked) ? await autoModel.select(given) : null
    const { model, fallbacks } = auto ?? { model: trace.asked, fallbacks: given.request.fallbacks }
    const incoming = withoutOwnFields(given)
    const { request, text } = incoming
    const bodyBytes = text.bytes.length
    const allowDearer = auto !== null || limits.allowDearerFallbacks
    const plan = planFor(
      { kind: 'chat', model, fallbacks, promptBound: bodyBytes, allowDearer, mayUse }, catalogue)
    const deadline = startDeadline(given, Math.min(given.deadlineMs ?? Infinity, limits.deadlineMs))
    const hold = holds(payer, requestId)
    const available = () => leastAvailable(ledger, payer.chain)
    const covered: { by: Candidate | null, quote: ChatQuote | null } = { by: null, quote: null }
    try {
      const attempt = await tryCandidates<Candidate<ChatProvider>, Answer>({
        plan,
        limits,
        signal,
        trace,
        dueMs: deadline.dueMs,
        async cover (candidate) {
          const { model, price } = candidate
          if (covered.by?.model === model && covered.by.price === price) return
          Object.assign(covered, { by: null, quote: null })
          const quote = await quoteChat({ request, bodyBytes, model, price, available })
          await hold.cover(model.id, quote)
          Object.assign(covered, { by: candidate, quote })
        },
        async ask ({ provider, deployment, model: { maxOutput } }, signal) {
          const bounds = { outputLimit: covered.quote?.outputLimit ?? null, maxOutput }
          return await begun(
            await ask(provider, { request, text, model: deployment.model, ...bounds, requestId, signal }))
        },
        tokensOf: answer => answer.kind === 'json' ? answer.report.usage?.completion ?? 0 : null,
        onFailure: (candidate, error) => onFailure(requestId, candidate, error),
        random
      })
      const { candidate, answer } = attempt
      setCandidate(trace, candidate)
      trace.report = answer.report
      trace.route = auto?.answered(candidate.model.id) ?? null
      await deliver(incoming, answer, () => settle(hold, covered.quote, trace))
      if (answer.kind !== 'json') {
        const isBroken = trace.failure !== null && !signal.aborted
        recordStreamEnd(attempt, isBroken ? 'broken' : answer.report.usage?.completion ?? 0)
      }
    } catch (error) {
      auto?.failed()
      if (trace.model === null) setCandidate(trace, plan.asked[0])
      if (signal.reason instanceof GatewayError) throw signal.reason
      // The provider has worked on an answer that no client waits for any more.
      if (isWorkLost(error)) trace.report ??= createReport()
      throw error
    } finally {
      deadline.stop()
      settle(hold, covered.quote, trace)
      hold.end()
    }
  }

  return {
    complete: incoming => serve(incoming, (provider, call) => provider.chat(call)),
    completeText: incoming => serve(incoming, (provider, call) => {
      return provider.complete?.(call) ?? completeByChat(provider, call)
    })
  }
}

/** The request as providers get it: fields for the gateway alone are taken out. */
function withoutOwnFields<Request extends AnyRequest> (incoming: Incoming<Request>): Incoming<Request> {
  if (incoming.request.fallbacks === undefined) return incoming
  const text = JsonText.parse(Buffer.from(incoming.text.with(new Map([['fallbacks', undefined]]))))
  return { ...incoming, text, request: { ...incoming.request, fallbacks: undefined } }
}

/** Waits for the first chunk of a translated stream, because a failure before it can still be retried. */
async function begun (answer: Answer): Promise<Answer> {
  if (answer.kind !== 'chunks') return answer
  return { ...answer, chunks: await peekFirst<unknown>(answer.chunks) } as Answer
}

function isWorkLost (error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'aborted' && error.sent !== 'no'
}

/** Sends the answer. A whole one is settled before, so that the client finds it in its balance. */
async function deliver (
  { request, delivery, trace }: Incoming<AnyRequest>, answer: Answer, settleNow: () => void
): Promise<void> {
  const headers = headersOf(trace, answer.report.dropped)
  if (answer.kind === 'json') {
    settleNow()
    if (trace.costNano !== null) headers['x-tollgate-cost'] = usdText(trace.costNano)
    return delivery.json(headers, answer.body, answer.text)
  }
  if (answer.kind === 'bytes') return await delivery.stream(headers, answer.events)
  const wantsUsage = request.stream_options?.include_usage === true
  await delivery.stream(headers, encodeChunks(answer.chunks, answer.report, wantsUsage))
}

/** Charges what was delivered. Nothing is charged for a stream that broke off before its first text. */
function settle (hold: RequestHold, quote: ChatQuote | null, trace: Trace): void {
  const { report, failure } = trace
  if (quote === null || report === null) return
  if (failure !== null && report.usage === null && report.delivered.isEmpty) return
  trace.costNano = hold.settle(() => quote.chargeFor(report)) ?? trace.costNano
}
