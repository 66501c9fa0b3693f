import type { ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import type { Completion } from '../../schemas/openai/completions.ts'
import type { StreamReport } from '../providers/provider.ts'
import { readUsage } from '../providers/usage.ts'
import { doneEvent, encodeEvent } from '../upstream/sse.ts'

type Chunk = ChatCompletionChunk | Completion

/**
 * Translated chunks as an OpenAI event stream. The last chunk carries the usage: it goes into the report, and
 * to the client only when that asked for it, in which case all others say `usage: null`.
 */
export async function * encodeChunks (
  chunks: AsyncIterable<Chunk>, report: StreamReport, wantsUsage: boolean
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) {
    report.model ??= chunk.model
    report.usage = readUsage(chunk) ?? report.usage
    for (const choice of chunk.choices) report.delivered.takeText(textOf(choice))
    if (chunk.choices.length > 0) yield encodeEvent(wantsUsage ? { ...chunk, usage: null } : chunk)
    else if (wantsUsage) yield encodeEvent(chunk)
  }
  yield doneEvent
}

function textOf (choice: Chunk['choices'][number]): string {
  if (!('delta' in choice)) return choice.text
  const { content, tool_calls: calls = [] } = choice.delta
  return (content ?? '') + calls.map(call => call.function?.arguments ?? call.custom?.input ?? '').join('')
}
