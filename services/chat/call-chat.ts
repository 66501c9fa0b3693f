import type { ChatQuote } from '../billing/chat-quote.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { createReport, type StreamReport } from '../providers/report.ts'
import { peekFirst } from '../providers/upstream/peek-first.ts'
import { isAbandoned } from '../requests/attempt.ts'
import { tokenLimitsOf, type Candidate } from '../requests/candidates.ts'
import { isWorkLost } from '../requests/classify-failure.ts'
import type { Incoming } from '../requests/incoming.ts'
import { conversationHint } from '../shared/conversation.ts'
import type { Answer, AnyRequest, Ask } from './types.ts'

/**
 * Calls one candidate; resolves with its whole response, or when a stream has begun. Throws UpstreamError,
 * after it has recorded what may still be charged for work that no client waits for any more.
 */
export async function callChat<Request extends AnyRequest> (
  incoming: Incoming<Request>, ask: Ask<Request>, candidate: Candidate<ChatProvider>, quote: ChatQuote | null,
  signal: AbortSignal
): Promise<Answer> {
  const { request, text, requestId, payer, conversation, trace } = incoming
  const { deployment, provider } = candidate
  let begun: StreamReport | null = null
  try {
    const answer = await ask(candidate, {
      request,
      text,
      model: deployment.model,
      outputLimit: quote?.outputLimit ?? null,
      maxOutput: tokenLimitsOf(candidate).maxOutput,
      held: quote?.held ?? null,
      conversation: () => conversationHint(payer.key, request, conversation),
      requestId,
      signal
    })
    begun = answer.report
    // A failure before the first chunk of a translated stream can still be retried.
    return answer.kind === 'chunks' ? await withFirstChunk(answer) : answer
  } catch (error) {
    if (isAbandoned(incoming.signal) && isWorkLost(error)) {
      const mayCostMore = request.stream !== true && provider.stopsOnDisconnect !== true
      trace.report ??= begun ?? { ...createReport(), mayCostMore }
    }
    throw error
  }
}

async function withFirstChunk (answer: Extract<Answer, { kind: 'chunks' }>): Promise<Answer> {
  return { ...answer, chunks: await peekFirst<unknown>(answer.chunks) } as Answer
}
