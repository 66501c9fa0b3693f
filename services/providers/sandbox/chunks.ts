import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import type { UpstreamError } from '../../shared/errors.ts'
import type { CompletionHead } from './completion.ts'
import { fakeLogprobs } from './logprobs.ts'
import type { Reply, ReplyCall } from './reply.ts'
import { throwIfAborted, delay } from './delay.ts'

/** `top` is as in buildCompletion. */
interface ReplyStreamOptions {
  pieceMs: number
  signal: AbortSignal
  breakOff: UpstreamError | null
  /** How many rounds of chunks precede `breakOff`. */
  breakAfter: number
  top: number | null
}

/** The replies as chunks, choices interleaved, usage last. Throws UpstreamError `aborted`. */
export async function * streamReplies (
  head: CompletionHead, replies: readonly Reply[], usage: CompletionUsage, options: ReplyStreamOptions
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const { pieceMs, signal, breakOff, breakAfter, top } = options
  const object = 'chat.completion.chunk'
  let growing = replies.map(reply => piecesOf(reply, top))
  let rounds = 0
  while (growing.length > 0) {
    await delay(rounds === 0 ? 0 : pieceMs, signal)
    if (breakOff !== null && rounds === breakAfter) throw breakOff
    const unfinished = []
    for (const pieces of growing) {
      const { value, done } = pieces.next()
      if (done === true) continue
      throwIfAborted(signal)
      yield { ...head, object, choices: [value] }
      unfinished.push(pieces)
    }
    growing = unfinished
    rounds++
  }
  yield { ...head, object, choices: [], usage }
}

type Choice = ChatCompletionChunk['choices'][number]

function * piecesOf (reply: Reply, top: number | null): Generator<Choice, void, undefined> {
  const { index, content, reasoning, refusal, calls, finish } = reply
  const piece = (delta: Choice['delta']): Choice => ({ index, delta, logprobs: null, finish_reason: null })
  yield piece({ role: 'assistant', content: content === null ? null : '', refusal: null })
  for (const token of reasoning ?? []) yield piece(reasoningDelta(token))
  for (const token of refusal ?? []) yield piece({ refusal: token })
  for (const [position, token] of (content ?? []).entries()) {
    const logprobs = top === null ? null : fakeLogprobs([token], top, position)
    yield { ...piece({ content: token }), logprobs }
  }
  for (const [position, call] of calls.entries()) {
    for (const delta of callDeltas(call, position)) yield piece(delta)
  }
  yield { ...piece({}), finish_reason: finish }
}

/** DeepSeek's field for reasoning, which OpenAI's schema lacks. */
function reasoningDelta (token: string): Choice['delta'] {
  const delta: Choice['delta'] & { reasoning_content: string } = { reasoning_content: token }
  return delta
}

function * callDeltas ({ id, form, name, input }: ReplyCall, index: number): Generator<Choice['delta']> {
  if (form === 'legacy') {
    yield { function_call: { name, arguments: '' } }
    for (const text of input) yield { function_call: { arguments: text } }
  } else if (form === 'custom') {
    yield { tool_calls: [{ index, id, type: 'custom', custom: { name, input: '' } }] }
    for (const text of input) yield { tool_calls: [{ index, custom: { input: text } }] }
  } else {
    yield { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
    for (const text of input) yield { tool_calls: [{ index, function: { arguments: text } }] }
  }
}
