import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { RequestsConfig } from '../catalogue/types.ts'
import type { Deadlines } from '../shared/deadline-timer.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { JsonText } from '../shared/json-text.ts'
import type { Charge, Meter } from '../billing/charge.ts'
import { usdText } from '../shared/money.ts'
import { createReport } from '../providers/provider.ts'
import type { ChatProvider, ProviderCall } from '../providers/provider.ts'
import { isPolicy } from '../routing/policies.ts'
import type { Trace } from '../requests/trace.ts'
import { noteEnd } from '../requests/attempt.ts'
import type { Answer } from '../requests/attempt.ts'
import { planFor } from '../requests/candidates.ts'
import type { Candidate, Catalogue } from '../requests/candidates.ts'
import { encodeChunks } from './encode-chunks.ts'
import { headersOf } from '../requests/response-headers.ts'
import { completeByChat } from './legacy.ts'
import { findAnswer } from '../requests/try-candidates.ts'
import type { Selector } from './auto-model.ts'
import { Till } from '../requests/request-hold.ts'
import type { Incoming } from '../requests/incoming.ts'

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
  /** Asked for each request, because the configuration may change. */
  limits: () => RequestsConfig
  deployments: Deployments
  deadlines: Deadlines
  meter: Meter
  /** Chooses the model of requests that leave it to the gateway. */
  selector: Selector
  /** Hears of every call that failed, also when another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
  /** From 0 up to, not including, 1. */
  random?: () => number
}

type AnyRequest = ChatCompletionRequest | CompletionRequest
type Ask<Request> = (provider: ChatProvider, call: ProviderCall<Request>) => Promise<Answer>

/**
 * The use case behind chat and legacy completions: plan who may answer, hold the money, call until somebody
 * does, deliver, settle.
 */
export function createChat (options: ChatOptions): Chat {
  const { catalogue, deployments, deadlines, meter, selector, onFailure, random = Math.random } = options

  /** Starts the time that a request may take; `stop` ends it. `dueMs` is on the clock of `deadlines`. */
  function watch (limitMs: number, giveUp: (reason: GatewayError) => void) {
    const watched = {
      slot: -1,
      dueMs: Infinity,
      onDeadline: () => giveUp(GatewayError.deadlineExceeded(limitMs)),
      stop: () => deadlines.delete(watched)
    }
    deadlines.add(watched)
    watched.dueMs = deadlines.nowMs + limitMs
    return watched
  }

  async function serve<Request extends AnyRequest> (
    given: Incoming<Request>, ask: Ask<Request>
  ): Promise<void> {
    const limits = options.limits()
    const { request: { model: asked }, mayUse, trace, signal } = given
    trace.asked = asked
    const selected = isPolicy(asked) ? await selector.select(given) : null
    const { model, fallbacks } = selected ?? { model: asked, fallbacks: given.request.fallbacks ?? null }
    const incoming = withoutOwnFields(given)
    const { request, text, requestId, payer } = incoming
    const bodyBytes = text.bytes.length
    const plan = planFor({ model, fallbacks, promptBound: bodyBytes, mayUse },
      { catalogue, deployments, allowDearer: selected !== null || limits.allowDearerFallbacks })
    const deadline = watch(Math.min(given.deadlineMs ?? Infinity, limits.deadlineMs), given.giveUp)
    const till = new Till(meter, { payer, requestId, request, bodyBytes })
    try {
      const found = await findAnswer({
        plan,
        limits,
        signal,
        trace,
        dueMs: deadline.dueMs,
        prepare: candidate => till.prepare(candidate),
        ask: ({ provider, deployment, model: { maxOutput } }, signal) => {
          const bounds = { outputLimit: till.charge?.outputLimit ?? null, maxOutput }
          return ask(provider, { request, text, model: deployment.model, ...bounds, requestId, signal })
        },
        onFailure: (candidate, error) => onFailure(requestId, candidate, error),
        random
      })
      name(trace, found.candidate)
      trace.report = found.answer.report
      trace.route = selected?.answered(found.candidate.model.id) ?? null
      const delivered = deliver(incoming, found.answer, till.charge)
      if (delivered !== undefined) await delivered
      noteEnd(found, trace.failure !== null && !signal.aborted)
    } catch (error) {
      selected?.failed()
      if (trace.model === null) name(trace, plan.asked[0])
      if (signal.reason instanceof GatewayError) throw signal.reason
      // A provider whose answer nobody waits for any more has worked on it all the same.
      if (isWorkLost(error)) trace.report ??= createReport()
      throw error
    } finally {
      deadline.stop()
      settle(till.charge, trace)
    }
  }

  return {
    complete: incoming => serve(incoming, (provider, call) => provider.chat(call)),
    completeText: incoming => serve(incoming, (provider, call) => {
      return provider.complete?.(call) ?? completeByChat(provider, call)
    })
  }
}

/** The request as providers get it: what is meant for the gateway alone stays behind. */
function withoutOwnFields<Request extends AnyRequest> (incoming: Incoming<Request>): Incoming<Request> {
  if (incoming.request.fallbacks === undefined) return incoming
  const text = JsonText.parse(Buffer.from(incoming.text.with(new Map([['fallbacks', undefined]]))))
  return { ...incoming, text, request: { ...incoming.request, fallbacks: undefined } }
}

function name (trace: Trace, candidate: Candidate | undefined): void {
  trace.model = candidate?.model.id ?? null
  trace.provider = candidate?.provider.id ?? null
  trace.upstreamModel = candidate?.deployment.model ?? null
}

function isWorkLost (error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'aborted' && error.sent !== 'no'
}

function deliver (
  { request, delivery, trace }: Incoming<AnyRequest>, answer: Answer, charge: Charge | null
): Promise<void> | undefined {
  const headers = headersOf(trace, answer.report.dropped)
  if (answer.kind === 'json') {
    // Booked before it is sent: whoever has read the answer finds it in the balance.
    settle(charge, trace)
    if (trace.costNano !== null) headers['x-tollgate-cost'] = usdText(trace.costNano)
    delivery.json(headers, answer.body, answer.text)
    return undefined
  }
  if (answer.kind === 'bytes') return delivery.stream(headers, answer.events)
  const wantsUsage = request.stream_options?.include_usage === true
  return delivery.stream(headers, encodeChunks(answer.chunks, answer.report, wantsUsage))
}

/** Ends the charge by what was used, or by nothing when nothing came. Ending it again changes nothing. */
function settle (charge: Charge | null, trace: Trace): void {
  const { report, failure } = trace
  const brokeOffEmpty = failure !== null && report?.usage === null && report.delivered.isEmpty
  if (report === null || brokeOffEmpty) charge?.cancel()
  else trace.costNano = charge?.settle(report) ?? trace.costNano
}
