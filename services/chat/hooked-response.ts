import type { ChatCompletion, ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import type { Completion } from '../../schemas/openai/completions.ts'
import type { RequestHooks } from '../extensions/request-hooks.ts'
import type { StreamStages } from '../extensions/stream-stages.ts'
import { eventsIn } from '../providers/upstream/sse.ts'
import { isObject } from '../shared/json.ts'
import type { ChatOrText, ClientApi } from './client-api.ts'
import { chatOfCompletion, chunkOfCompletion, completionOfChat, completionOfChunk } from './legacy-hooks.ts'

type Streamed = Extract<ChatOrText, { kind: 'chunks' | 'bytes' }>

/**
 * Runs the plugins on a response, before it is charged: on a whole one now, on a stream while it is sent.
 * Throws PluginError.
 */
export async function hookedResponse (
  response: ChatOrText, hooks: RequestHooks, { name }: Pick<ClientApi<never>, 'name'>
): Promise<ChatOrText> {
  if (!hooks.readsChats || response.native === true) return response
  // The form of a response is that of the endpoint that was called.
  const isLegacy = name === 'completions'
  if (response.kind === 'json') {
    const { report } = response
    const chat = isLegacy ? chatOfCompletion(response.body as Completion) : response.body as ChatCompletion
    const hooked = await hooks.response(chat)
    if (hooked === chat) return response
    return isLegacy
      ? { kind: 'json', body: completionOfChat(hooked), text: null, report }
      : { kind: 'json', body: hooked, text: null, report }
  }
  const stages = hooks.stream()
  if (stages === null) return response
  const { report } = response
  const chunks = throughStages(chatChunks(response, isLegacy), stages)
  return isLegacy ? { kind: 'chunks', chunks: asCompletions(chunks), report } : { kind: 'chunks', chunks, report }
}

/** Passes chunks through the plugins; the usage, which is the provider's, comes last and passes none. */
async function * throughStages (
  chunks: AsyncIterable<ChatCompletionChunk>, stages: StreamStages
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  let last: ChatCompletionChunk | null = null
  for await (const { usage, ...chunk } of chunks) {
    if (isObject(usage)) last = { ...chunk, choices: [], usage }
    if (chunk.choices.length > 0) yield * await stages.take(chunk)
  }
  yield * await stages.end()
  if (last !== null) yield last
}

async function * chatChunks (response: Streamed, isLegacy: boolean): AsyncGenerator<ChatCompletionChunk> {
  for await (const chunk of chunksIn(response)) {
    yield isLegacy ? chunkOfCompletion(chunk as Completion) : chunk as ChatCompletionChunk
  }
}

async function * chunksIn (response: Streamed): AsyncGenerator<ChatCompletionChunk | Completion> {
  if (response.kind === 'chunks') return yield * response.chunks
  for await (const piece of response.events) {
    for (const { data } of eventsIn(Buffer.from(piece))) if (data !== '[DONE]') yield JSON.parse(data)
  }
}

async function * asCompletions (chunks: AsyncIterable<ChatCompletionChunk>): AsyncGenerator<Completion> {
  for await (const chunk of chunks) yield completionOfChunk(chunk)
}
