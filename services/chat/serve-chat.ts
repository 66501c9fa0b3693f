import { createAnswerLengths } from '../billing/chat-quote.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { isAbandoned, recordStreamEnd, type Attempt } from '../requests/attempt.ts'
import { isPolicy, type Candidate } from '../requests/candidates.ts'
import { RequestDeadline } from '../requests/deadline.ts'
import { failover } from '../requests/failover.ts'
import type { Incoming } from '../requests/incoming.ts'
import { endTrace, setCandidate, type Trace } from '../requests/trace.ts'
import { conversationId } from '../shared/conversation.ts'
import { GatewayError } from '../shared/errors.ts'
import { callChat } from './call-chat.ts'
import { deliverAnswer } from './deliver-answer.ts'
import { completeByChat } from './legacy.ts'
import { planChat, type ChatPlan } from './plan-chat.ts'
import { ChatReservation } from './reserve-chat.ts'
import type { Answer, AnyRequest, Chat, ChatOptions, Way } from './types.ts'

/** Creates the use case: plan, reserve, call the next deployment until one answers, reply, settle. */
export function createChat (options: ChatOptions): Chat {
  const { catalogue, ledger, holds, autoModel, observe, drains, random = Math.random } = options
  const lengths = createAnswerLengths()
  let running = 0
  let onIdle = (): void => {}

  /** A whole response is generated to its end, and charged, even if its client leaves. */
  async function begin<Request extends AnyRequest> (
    received: Incoming<Request>, way: Way<Request>
  ): Promise<void> {
    const { signal, request } = received
    if (request.stream === true) return await serve(received, way, signal)
    const dueMs = performance.now() + options.config().requests.deadlineMs
    await drains.run(signal, dueMs, callSignal => serve(received, way, callSignal))
  }

  async function serve<Request extends AnyRequest> (
    received: Incoming<Request>, { ask, native }: Way<Request>, callSignal: AbortSignal
  ): Promise<void> {
    const { requests: limits } = options.config()
    const { request: { model: asked, stream }, requestId, payer, clientRetries, signal, trace } = received
    trace.asked = asked
    const given = isPolicy(asked) && observe !== undefined ? observe(received) : received
    const planned = await planChat(given, native, { catalogue, autoModel, limits })
    const { incoming, auto, plan } = planned
    const deadline = new RequestDeadline(received, limits)
    const hold = holds(payer, requestId, { signal, dueMs: deadline.dueMs })
    const { extras } = native
    const chargesBroken = limits.chargeBrokenStreams
    const reservation = new ChatReservation(planned, { hold, ledger, lengths, extras, chargesBroken })
    trace.isOpen = true
    running++
    try {
      const turns = failover({
        plan,
        limits,
        key: payer.key,
        clientRetries,
        signal,
        callSignal,
        trace,
        deadline,
        patience: auto?.patience,
        onFailure: (candidate, error) => options.onFailure(requestId, candidate, error),
        random,
        conversation: () => conversationId(payer.key, incoming.request, incoming.conversation)
      })
      for await (const turn of turns) {
        if (!await turn.reserved(reservation.cover(turn.candidate))) continue
        const attempt = await turn.call({
          ask: (candidate, called) => {
            const ends = endingWithClient(candidate, { called, callSignal, signal })
            return callChat(incoming, ask, candidate, reservation.quote, ends)
          },
          tokensOf
        })
        if (attempt === null) continue
        recordAttempt(trace, attempt, planned, reservation)
        if (attempt.answer.kind !== 'json') deadline.streamBegan()
        await deliverAnswer(incoming, attempt.answer, () => reservation.settle())
        recordDelivery(incoming, attempt)
        return
      }
    } catch (error) {
      const failure = auto?.failureOf(error) ?? error
      if (trace.model === null) setCandidate(trace, reservation.candidate ?? plan.asked[0])
      throw signal.reason instanceof GatewayError ? signal.reason : failure
    } finally {
      deadline.stop()
      await reservation.settle()
      reservation.end()
      if (isAbandoned(signal) && stream !== true) options.onAbandoned(requestId, trace)
      endTrace(trace)
      if (--running === 0) onIdle()
    }
  }

  return {
    complete: (incoming, native) => begin(incoming, {
      native: native ?? {},
      ask: (candidate, call) => native?.ask(candidate, call) ?? candidate.provider.chat(call)
    }),
    completeText: incoming => {
      // A policy chooses among chat models, which OpenAI's legacy endpoint does not serve.
      const byChat = isPolicy(incoming.request.model)
      return begin(incoming, {
        native: {},
        ask: ({ provider }, call) => {
          return (byChat ? undefined : provider.complete?.(call)) ?? completeByChat(provider, call)
        }
      })
    },
    idle: async () => {
      if (running > 0) await new Promise<void>(resolve => { onIdle = resolve })
    }
  }
}

interface Signals { called: AbortSignal, callSignal: AbortSignal, signal: AbortSignal }

/** The signal of a call, which ends with its client where it costs nothing more once it is closed. */
function endingWithClient (
  { provider }: Candidate<ChatProvider>, { called, callSignal, signal }: Signals
): AbortSignal {
  if (provider.stopsOnDisconnect !== true) return called
  // `signal` aborts whenever `callSignal` does.
  return called === callSignal ? signal : AbortSignal.any([called, signal])
}

/** Tokens of a whole response; null for a stream, which goes on. */
function tokensOf (answer: Answer): number | null {
  return answer.kind === 'json' ? answer.report.usage?.completion ?? 0 : null
}

/** Records who answers, before the headers are sent that say so. */
function recordAttempt (
  trace: Trace, { candidate, answer }: Attempt<Candidate<ChatProvider>, Answer>,
  { auto }: Pick<ChatPlan<AnyRequest>, 'auto'>, reservation: ChatReservation
): void {
  setCandidate(trace, candidate)
  trace.report = answer.report
  reservation.moveTo(candidate)
  trace.maxTokens = reservation.quote?.outputLimit ?? null
  trace.route = auto?.answered(candidate.model.id) ?? null
}

/** Records how a stream has ended in the health of its deployment. */
function recordDelivery (
  { trace, signal }: Incoming<unknown>, attempt: Attempt<Candidate, Answer>
): void {
  const { answer: { kind, report } } = attempt
  if (kind === 'json') return
  const isBroken = trace.failure !== null && !signal.aborted
  recordStreamEnd(attempt, isBroken ? 'broken' : report.usage?.completion ?? 0)
}
