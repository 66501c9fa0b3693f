import type { ChatCompletionRequest } from '../../schemas/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/completions.ts'
import type { ModelConfig } from '../config/config.ts'
import { GatewayError, UpstreamError } from '../errors.ts'
import type { JsonText } from '../json-text.ts'
import type { Charge, Meter, Payer } from '../metering/meter.ts'
import type { Resolved } from '../models/registry.ts'
import { usdText } from '../money.ts'
import { createReport } from '../providers/provider.ts'
import type { ChatAnswer, ChatProvider, CompletionAnswer, Provider, ProviderCall } from '../providers/provider.ts'
import type { Trace } from '../trace.ts'
import type { Delivery } from './delivery.ts'
import { encodeChunks } from './encode-chunks.ts'
import { completeByChat } from './legacy.ts'

/** Where the use case finds models and providers; both may be replaced while requests run. */
export interface Catalogue {
  resolve (model: string): Resolved | undefined
  provider (id: string): Provider | undefined
}

/** One request of one client. `text` is the body as received, `request` the same, validated. */
export interface Incoming<Request> {
  request: Request
  text: JsonText
  requestId: string
  payer: Payer
  /** Whether the key may use a model, by its public id. */
  mayUse (model: string): boolean
  signal: AbortSignal
  trace: Trace
  delivery: Delivery
}

export interface Chat {
  /**
   * Serves `POST /v1/chat/completions`; throws GatewayError, UpstreamError or StoreUnavailable before the
   * first byte went out.
   */
  complete (incoming: Incoming<ChatCompletionRequest>): Promise<void>
  /** Serves `POST /v1/completions`, natively or through chat; throws like `complete`. */
  completeText (incoming: Incoming<CompletionRequest>): Promise<void>
}

type AnyRequest = ChatCompletionRequest | CompletionRequest

interface Candidate { model: ModelConfig, provider: ChatProvider, upstreamModel: string }

/**
 * The use case behind chat and legacy completions: resolve the model, hold the money, call, deliver, settle.
 */
export function createChat (catalogue: Catalogue, meter: Meter): Chat {
  function candidateFor ({ request, mayUse }: Incoming<AnyRequest>): Candidate {
    const id = request.model
    const resolved = catalogue.resolve(id)
    const deployment = resolved?.deployments[0]
    const provider = deployment && catalogue.provider(deployment.provider)
    if (resolved === undefined || deployment === undefined || provider === undefined) {
      throw GatewayError.modelNotFound(id)
    }
    if (!mayUse(resolved.model.id)) throw GatewayError.modelNotFound(id)
    if (resolved.model.kind !== 'chat') {
      throw GatewayError.invalidRequest(`The model \`${id}\` makes ${resolved.model.kind}s; it cannot chat.`,
        { param: 'model' })
    }
    if (!canChat(provider)) throw GatewayError.modelNotFound(id)
    return { model: resolved.model, provider, upstreamModel: deployment.model }
  }

  async function serve<Request extends AnyRequest> (
    incoming: Incoming<Request>,
    ask: (provider: ChatProvider, call: ProviderCall<Request>) => Promise<ChatAnswer | CompletionAnswer>
  ): Promise<void> {
    const { request, text, requestId, payer, signal, trace } = incoming
    trace.asked = request.model
    const { model, provider, upstreamModel } = candidateFor(incoming)
    trace.model = model.id
    trace.provider = provider.id
    trace.upstreamModel = upstreamModel
    const charge = await meter.admit({ payer, requestId, request, bodyBytes: text.bytes.length, model })
    try {
      const call = { request, text, model: upstreamModel, outputLimit: charge.outputLimit, requestId, signal }
      const answer = await ask(provider, call)
      trace.report = answer.report
      await deliver(incoming, answer, charge)
    } catch (error) {
      // A provider whose answer nobody waits for any more has worked on it all the same.
      if (error instanceof UpstreamError && error.kind === 'aborted') trace.report ??= createReport()
      throw error
    } finally {
      settle(charge, trace)
    }
  }

  return {
    complete: incoming => serve(incoming, (provider, call) => provider.chat(call)),
    completeText: incoming => serve(incoming, (provider, call) => {
      return provider.complete?.(call) ?? completeByChat(provider, call)
    })
  }
}

function canChat (provider: Provider): provider is ChatProvider {
  return provider.chat !== undefined
}

async function deliver (
  { request, delivery, trace }: Incoming<AnyRequest>, answer: ChatAnswer | CompletionAnswer, charge: Charge
): Promise<void> {
  const headers = headersOf(trace, answer.report.dropped)
  if (answer.kind === 'json') {
    // Booked before it is sent: whoever has read the answer finds it in the balance.
    settle(charge, trace)
    if (trace.costNano !== null) headers['x-tollgate-cost'] = usdText(trace.costNano)
    return delivery.json(headers, answer.body, answer.bytes)
  }
  if (answer.kind === 'bytes') return await delivery.stream(headers, answer.events)
  const wantsUsage = request.stream_options?.include_usage === true
  await delivery.stream(headers, encodeChunks(answer.chunks, answer.report, wantsUsage))
}

/** Ends the charge by what was used, or by nothing when nothing came. Ending it again changes nothing. */
function settle (charge: Charge, trace: Trace): void {
  const { report, failure } = trace
  const brokeOffEmpty = failure !== null && report?.usage === null && report.delivered.isEmpty
  if (report === null || brokeOffEmpty) charge.cancel()
  else trace.costNano = charge.settle(report) ?? trace.costNano
}

/** What was decided, for the client to see: the public model id, the provider and the model's name there. */
function headersOf (trace: Trace, dropped: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {
    'x-tollgate-model': headerText(trace.model),
    'x-tollgate-provider': headerText(trace.provider),
    'x-tollgate-upstream-model': headerText(trace.upstreamModel)
  }
  if (dropped.length > 0) headers['x-tollgate-dropped-params'] = dropped.join(', ')
  return headers
}

/** Model names may be any text; a header may not. */
function headerText (value: string | null): string {
  return (value ?? '').replace(/[^\x20-\x7e]/g, encodeURIComponent)
}
