import type { ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import type { Completion } from '../../schemas/openai/completions.ts'
import { doneEvent, encodeEvent } from '../upstream/sse.ts'
import type { StreamReport } from '../providers/report.ts'

type Chunk = ChatCompletionChunk | Completion

/**
 * Translated chunks as an OpenAI event stream. The last chunk carries the usage: it goes to the client only
 * when that asked for it, in which case all others say `usage: null`.
 */
export async function * encodeChunks (
  chunks: AsyncIterable<Chunk>, report: StreamReport, wantsUsage: boolean
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) {
    report.model ??= chunk.model
    if (chunk.choices.length > 0) yield encodeEvent(wantsUsage ? { ...chunk, usage: null } : chunk)
    else if (wantsUsage) yield encodeEvent(chunk)
  }
  yield doneEvent
}
