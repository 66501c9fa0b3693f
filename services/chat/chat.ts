import type { ChatCompletionRequest } from '../../schemas/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/completions.ts'
import { GatewayError } from '../errors.ts'
import type { JsonText } from '../json-text.ts'
import type { ModelConfig } from '../config/config.ts'
import type { Resolved } from '../models/registry.ts'
import type { ChatAnswer, CompletionAnswer, Provider, ProviderCall } from '../providers/provider.ts'
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
  signal: AbortSignal
  trace: Trace
  delivery: Delivery
}

export interface Chat {
  /**
   * Serves `POST /v1/chat/completions`; throws GatewayError or UpstreamError before the first byte went out.
   */
  complete (incoming: Incoming<ChatCompletionRequest>): Promise<void>
  /** Serves `POST /v1/completions`, natively or through chat; throws like `complete`. */
  completeText (incoming: Incoming<CompletionRequest>): Promise<void>
}

interface Candidate { model: ModelConfig, provider: Provider, upstreamModel: string }

/**
 * The use case behind chat and legacy completions: resolve the model, call its provider, deliver the answer.
 */
export function createChat (catalogue: Catalogue): Chat {
  function candidateFor (id: string): Candidate {
    const resolved = catalogue.resolve(id)
    const deployment = resolved?.deployments[0]
    const provider = deployment && catalogue.provider(deployment.provider)
    if (resolved === undefined || deployment === undefined || provider === undefined) {
      throw GatewayError.modelNotFound(id)
    }
    if (resolved.model.kind !== 'chat') {
      throw GatewayError.invalidRequest(`The model \`${id}\` makes ${resolved.model.kind}s; it cannot chat.`,
        { param: 'model' })
    }
    return { model: resolved.model, provider, upstreamModel: deployment.model }
  }

  async function serve<Request extends ChatCompletionRequest | CompletionRequest> (
    incoming: Incoming<Request>,
    ask: (provider: Provider, call: ProviderCall<Request>) => Promise<ChatAnswer | CompletionAnswer>
  ): Promise<void> {
    const { request, trace } = incoming
    trace.asked = request.model
    const { model, provider, upstreamModel } = candidateFor(request.model)
    trace.model = model.id
    trace.provider = provider.id
    trace.upstreamModel = upstreamModel
    const answer = await ask(provider, {
      request,
      text: incoming.text,
      model: upstreamModel,
      requestId: incoming.requestId,
      signal: incoming.signal
    })
    trace.report = answer.report
    await deliver(incoming, answer, headersOf(trace, answer.report.dropped))
  }

  return {
    complete: incoming => serve(incoming, (provider, call) => provider.chat(call)),
    completeText: incoming => serve(incoming, (provider, call) => {
      return provider.complete?.(call) ?? completeByChat(provider, call)
    })
  }
}

async function deliver (
  { request, delivery }: Incoming<ChatCompletionRequest | CompletionRequest>,
  answer: ChatAnswer | CompletionAnswer, headers: Record<string, string>
): Promise<void> {
  if (answer.kind === 'json') return delivery.json(headers, answer.body, answer.bytes)
  if (answer.kind === 'bytes') return await delivery.stream(headers, answer.events)
  const wantsUsage = request.stream_options?.include_usage === true
  await delivery.stream(headers, encodeChunks(answer.chunks, answer.report, wantsUsage))
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
