import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { effectiveLimit } from '../../shared/request-fields.ts'
import { recordChunk } from '../generated-text.ts'
import type { ChatResponse, ChatApi, ChatCall } from '../provider.ts'
import { countsIn } from '../usage.ts'
import { createReport, recordUsage, type StreamReport, type Usage } from '../report.ts'
import { streamReplies } from './chunks.ts'
import { buildCompletion, type CompletionHead } from './completion.ts'
import { readChatContext } from './chat-context.ts'
import { readDirective } from './directives.ts'
import { composeReply, type Reply } from './reply.ts'
import { directiveOf, scriptedCreated, type Script } from './script.ts'
import { hasReply, scriptedReply, scriptedUsage } from './scripted-reply.ts'
import { buildUsage } from './usage.ts'
import { delay } from './delay.ts'

interface SandboxOptions {
  pieceMs?: number
  /** Decides each call; null: the prompt does. */
  script?: Script | null
}

/**
 * Chat in this process, without a network and a key. Deterministic: the same request gets the same reply, in
 * OpenAI's format and with exact usage. `pieceMs` is the pause between two chunks of a stream. Throws
 * UpstreamError if the prompt contains an error directive (see directives.ts), if the request forces an
 * undeclared tool, and if the call is aborted.
 */
export function createSandboxChat ({ pieceMs = 8, script = null }: SandboxOptions = {}): ChatApi {
  return {
    chat: call => respond(call, pieceMs, script),
    models: async () => ['sandbox-chat', 'sandbox-image', 'sandbox-video']
  }
}

async function respond (call: ChatCall, usualPieceMs: number, script: Script | null): Promise<ChatResponse> {
  const { model, signal } = call
  const limit = effectiveLimit(call)
  const request = limit === null ? call.body : { ...call.body, max_completion_tokens: limit }
  const context = readChatContext(request)
  const step = script?.next({ kind: 'chat', model, body: call.body }) ?? null
  const directive = step === null ? readDirective(context.userText, call.sandbox) : directiveOf(step)
  const { error, delayMs, breakOff, breakAfter } = directive
  await delay(delayMs, signal)
  if (error !== null) throw error
  if (breakOff !== null && request.stream !== true) throw breakOff
  const indices = Array.from({ length: request.n ?? 1 }, (_, index) => index)
  const replies: Reply[] = []
  for (const index of indices) {
    // A hundred long answers must not keep other requests waiting.
    if (index > 0) await turn()
    replies.push(step !== null && hasReply(step)
      ? scriptedReply(step, index, () => script?.newId('call') ?? '')
      : composeReply(request, context, index))
  }
  const counted = buildUsage(request, replies.reduce((tokens, reply) => tokens + reply.tokens, 0))
  const usage = step === null ? counted : scriptedUsage(step, counted)
  const head = script === null ? headOf(model) : scriptedHead(model, script)
  const top = request.logprobs === true ? request.top_logprobs ?? 0 : null
  if (top !== null && request.stream !== true) checkLogprobs(replies, top)
  const usageReport = step === null
    ? { prompt: usage.prompt_tokens, completion: usage.completion_tokens }
    : countsIn(usage)
  if (request.stream !== true) {
    const body = await buildCompletion(head, replies, usage, top)
    return { kind: 'json', body, text: null, report: { ...createReport(), usage: usageReport, model } }
  }
  const report: StreamReport = { ...createReport(), model }
  const pieceMs = step?.pace_ms ?? usualPieceMs
  const chunks = streamReplies(head, replies, usage, { pieceMs, signal, breakOff, breakAfter, top })
  return { kind: 'chunks', chunks: reporting(chunks, report, usageReport), report }
}

/** An answer is built in memory, and would have millions of them for a hundred long replies. */
const maxLogprobs = 50_000

function checkLogprobs (replies: readonly Reply[], top: number): void {
  const count = replies.reduce((sum, { content }) => sum + (content?.length ?? 0) * (1 + top), 0)
  if (count <= maxLogprobs) return
  throw new UpstreamError('bad_request', 'yes', `The sandbox gives at most ${maxLogprobs} log probabilities in an answer ` +
    'that is not streamed.', { status: 400, param: 'top_logprobs', code: 'invalid_value', shouldRetry: false })
}

function headOf (model: string): CompletionHead {
  const id = `chatcmpl-${randomUUID().replaceAll('-', '')}`
  return { id, created: Math.floor(Date.now() / 1_000), model, system_fingerprint: 'fp_sandbox' }
}

function scriptedHead (model: string, script: Script): CompletionHead {
  return { id: script.newId('chatcmpl'), created: scriptedCreated, model, system_fingerprint: 'fp_sandbox' }
}

// Like any provider, the stream reports its usage only when it is read to the end.
async function * reporting (
  chunks: AsyncIterable<ChatCompletionChunk>, report: StreamReport, usage: Usage
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  for await (const chunk of chunks) {
    if (chunk.choices.length === 0) recordUsage(report, usage, false)
    else recordChunk(report, chunk)
    yield chunk
  }
}
