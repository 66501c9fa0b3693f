import { createResponseLengths } from '../billing/response-lengths.ts'
import { PluginError } from '../extensions/plugin-error.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { isAbandoned, recordStreamEnd, type Attempt } from '../requests/attempt.ts'
import type { Candidate } from '../requests/candidates.ts'
import { RequestDeadline } from '../requests/deadline.ts'
import { failover } from '../requests/failover.ts'
import type { Exchange } from '../requests/exchange.ts'
import { endRecord, setCandidate, type RequestRecord } from '../requests/request-record.ts'
import { conversationId } from '../shared/conversation.ts'
import { GatewayError } from '../shared/errors.ts'
import { promptsOf } from '../shared/request-fields.ts'
import { callChat } from './call-chat.ts'
import type { AnyRequest, ChatOrText, ClientApi } from './client-api.ts'
import { planChat, type ChatPlan } from './plan-chat.ts'
import { hookedRequest } from './hooked-request.ts'
import { keepAlive, keepWholeAlive, reply } from './reply-chat.ts'
import { ChatReservation } from './reserve-chat.ts'
import type { Chat, ChatOptions } from './types.ts'
import { signalOfStream } from './usage-wait.ts'

/** Creates the use case: plan, reserve, call the next deployment until one responds, reply, settle. */
export function createChat (options: ChatOptions): Chat {
  const { catalogue, ledger, openReservation, autoModel, abandonedCalls, cache = null } = options
  const { random = Math.random } = options
  const lengths = createResponseLengths()
  let running = 0
  let onIdle = (): void => {}

  /** Plans, reserves, calls and replies; in any case releases what was not settled, and ends the record. */
  async function serve<Request extends AnyRequest> (
    received: Exchange<Request>, api: ClientApi<Request>, callSignal: AbortSignal
  ): Promise<void> {
    const { requests: limits } = options.config()
    const { body: { model, stream }, requestId, payer, clientRetries, signal, record } = received
    record.requestedModel = model
    const planned = await planChat(received, api, { catalogue, autoModel, limits })
    const { exchange, auto, plan } = planned
    const deadline = new RequestDeadline(received, limits)
    const reserved = openReservation(payer, requestId, { signal, dueMs: deadline.dueMs })
    const { extras } = api
    const chargesBroken = limits.chargeBrokenStreams
    const reservation = new ChatReservation(planned, { reserved, ledger, lengths, extras, chargesBroken })
    record.isOpen = true
    running++
    try {
      const turns = failover({
        plan,
        limits,
        key: payer.key,
        clientRetries,
        signal,
        callSignal,
        record,
        deadline,
        patience: auto?.patience,
        onFailure: (candidate, error) => options.onFailure(requestId, candidate, error),
        random,
        conversation: () => conversationId(payer.key, exchange.body, exchange.conversation)
      })
      for await (const turn of turns) {
        if (!await turn.reserved(reservation.reserve(turn.candidate))) continue
        const attempt = await turn.call({
          call: (candidate, called) => {
            const abort = stream === true ? called : signalOfCall(candidate, { called, callSignal, signal })
            return callChat(exchange, api, candidate, reservation.quote, abort)
          },
          tokensOf
        })
        if (attempt === null) continue
        recordAttempt(record, attempt, planned, reservation)
        if (attempt.response.kind !== 'json') deadline.streamBegan()
        await reply(exchange, api, attempt.response, () => reservation.settle())
        recordDelivery(exchange, attempt)
        return
      }
    } catch (error) {
      const failure = auto?.failureOf(error) ?? error
      if (record.model === null) setCandidate(record, reservation.candidate ?? plan.requested[0])
      throw signal.reason instanceof GatewayError ? signal.reason : failure
    } finally {
      deadline.stop()
      await reservation.settle()
      reservation.release()
      if (isAbandoned(signal) && stream !== true) options.onAbandoned(requestId, record)
      endRecord(record)
      if (--running === 0) onIdle()
    }
  }

  return {
    async complete (given, api) {
      const received = given.hooks == null ? given : await hookedRequest(given, given.hooks, api)
      if (received === null) return
      const exchange = cache === null ? received : await cache.replyOrStore(received, api)
      if (exchange === null) return
      const { body, signal } = exchange
      if (body.stream === true) {
        const callSignal = signalOfStream(exchange, promptsOf(body) * (body.n ?? 1))
        return await keepAlive(exchange, api, () => serve(exchange, api, callSignal))
      }
      // A whole response is generated to its end, and charged, even if its client leaves.
      const dueMs = performance.now() + options.config().requests.deadlineMs
      const run = async () =>
        await abandonedCalls.run(signal, dueMs, callSignal => serve(exchange, api, callSignal))
      const isKeptAlive = exchange.keepAlive ?? options.config().requests.keepAlive
      await (isKeptAlive ? keepWholeAlive(exchange, run) : run())
    },
    idle: async () => {
      if (running > 0) await new Promise<void>(resolve => { onIdle = resolve })
    }
  }
}

interface Signals { called: AbortSignal, callSignal: AbortSignal, signal: AbortSignal }

/** The signal of a whole call. It aborts with the client if the provider stops, and charging with it. */
function signalOfCall (
  { provider }: Candidate<ChatProvider>, { called, callSignal, signal }: Signals
): AbortSignal {
  if (provider.stopsOnDisconnect !== true) return called
  // `signal` aborts whenever `callSignal` does.
  return called === callSignal ? signal : AbortSignal.any([called, signal])
}

/** Tokens of a whole response; null for a stream, which goes on. */
function tokensOf (response: ChatOrText): number | null {
  return response.kind === 'json' ? response.report.usage?.completion ?? 0 : null
}

/** Records the candidate that has responded, before headers with its name are sent. */
function recordAttempt (
  record: RequestRecord, { candidate, response }: Attempt<Candidate<ChatProvider>, ChatOrText>,
  { auto }: Pick<ChatPlan<AnyRequest>, 'auto'>, reservation: ChatReservation
): void {
  setCandidate(record, candidate)
  record.report = response.report
  reservation.moveTo(candidate)
  record.maxTokens = reservation.quote?.outputLimit ?? null
  record.route = auto?.routeOf(candidate.model.id) ?? null
}

/** Records the end of a stream in the health of its deployment. */
function recordDelivery (
  { record, signal }: Exchange<unknown>, attempt: Attempt<Candidate, ChatOrText>
): void {
  const { response: { kind, report } } = attempt
  if (kind === 'json') return
  const isBroken = record.failure !== null && !(record.failure instanceof PluginError) && !signal.aborted
  recordStreamEnd(attempt, isBroken ? 'broken' : report.usage?.completion ?? 0)
}
