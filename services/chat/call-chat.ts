import type { ChatQuote } from '../billing/chat-quote.ts'
import type { AttemptOutcome } from '../extensions/types.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { createReport, type StreamReport } from '../providers/report.ts'
import { peekFirst } from '../providers/upstream/peek-first.ts'
import { isAbandoned } from '../requests/attempt.ts'
import { tokenLimitsOf, type Candidate } from '../requests/candidates.ts'
import { isWorkLost } from '../requests/classify-failure.ts'
import type { Exchange } from '../requests/exchange.ts'
import { conversationHint } from '../shared/conversation.ts'
import type { AnyRequest, ChatOrText, ProviderCalls } from './client-api.ts'
import { reporting, withoutUnpricedSearch } from './offered-tools.ts'

/**
 * Calls one candidate; resolves with its whole response, or when a stream has begun. Throws UpstreamError,
 * after it has recorded what may still be charged for work whose client has left.
 */
export async function callChat<Request extends AnyRequest> (
  exchange: Exchange<Request>, api: Pick<ProviderCalls<Request>, 'call'>, candidate: Candidate<ChatProvider>,
  quote: ChatQuote | null, signal: AbortSignal
): Promise<ChatOrText> {
  const { requestId, payer, conversation, record, hooks, sandbox } = exchange
  const { body, rawBody, leftOut } = withoutUnpricedSearch(exchange, candidate)
  const { deployment, provider } = candidate
  let begun: StreamReport | null = null
  const call = async (): Promise<ChatOrText> => {
    const response = await api.call(candidate, {
      body,
      rawBody,
      model: deployment.model,
      outputLimit: quote?.outputLimit ?? null,
      maxOutput: tokenLimitsOf(candidate).maxOutput,
      held: quote?.held ?? null,
      thinkTags: candidate.model.thinkTags ?? null,
      conversation: () => conversationHint(payer.key, body, conversation),
      requestId,
      sandbox,
      signal
    })
    reporting(response, leftOut)
    begun = response.report
    // A failure before the first chunk of a translated stream can still be retried.
    return response.kind === 'chunks' ? await withFirstChunk(response) : response
  }
  try {
    if (hooks == null) return await call()
    const named = { provider: provider.id, model: deployment.model, requestId }
    return await hooks.attempt({ call: named, next: call, outcomeOf })
  } catch (error) {
    if (isAbandoned(exchange.signal) && isWorkLost(error)) {
      const mayCostMore = body.stream !== true && provider.stopsOnDisconnect !== true
      record.report ??= begun ?? { ...createReport(), mayCostMore }
    }
    throw error
  }
}

/** What plugins may know of a response. */
function outcomeOf ({ kind, report: { usage } }: ChatOrText, tookMs: number): AttemptOutcome {
  return { isStream: kind !== 'json', tookMs, usage: kind === 'json' && usage !== null ? { ...usage } : null }
}

async function withFirstChunk (response: Extract<ChatOrText, { kind: 'chunks' }>): Promise<ChatOrText> {
  return { ...response, chunks: await peekFirst<unknown>(response.chunks) } as ChatOrText
}
