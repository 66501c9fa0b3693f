import type { ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import { tokenCount } from '../providers/usage.ts'
import type { Usage } from '../providers/report.ts'
import { UpstreamError } from '../shared/errors.ts'
import { isObject, type JsonObject } from '../shared/json.ts'

export interface ReadPiece { chunk: ChatCompletionChunk | null, usage: Usage | null }

type Delta = ChatCompletionChunk['choices'][number]['delta'] & { reasoning_content?: string }
type FinishReason = NonNullable<ChatCompletionChunk['choices'][number]['finish_reason']>

const reasons: ReadonlySet<unknown> = new Set(['stop', 'length', 'tool_calls', 'content_filter'])
const counts = ['cachedRead', 'cacheWrite', 'reasoning'] as const

/** Reads the pieces of a plugin's provider as chunks of one stream. Methods throw UpstreamError. */
export class PieceReader {
  readonly #head: Omit<ChatCompletionChunk, 'choices'>
  #isBegun = false
  #calls = 0
  #finish: FinishReason | null = null

  constructor (head: Pick<ChatCompletionChunk, 'id' | 'created' | 'model'>) {
    this.#head = { ...head, object: 'chat.completion.chunk' }
  }

  take (piece: unknown): ReadPiece {
    if (!isObject(piece)) throw wrongPiece('is not an object')
    switch (piece.type) {
      case 'text': return this.#delta({ content: textOf(piece) })
      case 'reasoning': return this.#delta({ reasoning_content: textOf(piece) })
      case 'tool_call': return this.#delta({ tool_calls: [this.#toolCall(piece)] })
      case 'usage': return { chunk: null, usage: usageOf(piece) }
      case 'finish':
        if (!reasons.has(piece.reason)) throw wrongPiece('has an unknown reason')
        this.#finish = piece.reason as FinishReason
        return { chunk: null, usage: null }
      default: throw wrongPiece('has an unknown type')
    }
  }

  /** The last chunks: why the response ended, and its usage if that was counted. */
  * end (usage: Usage | null): Generator<ChatCompletionChunk, void, undefined> {
    if (!this.#isBegun) yield this.#chunk({ role: 'assistant', content: '' }, null)
    yield this.#chunk({}, this.#finish ?? (this.#calls > 0 ? 'tool_calls' : 'stop'))
    if (usage === null) return
    const { prompt, completion, cachedRead = 0, reasoning = 0 } = usage
    yield {
      ...this.#head,
      choices: [],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: cachedRead },
        completion_tokens_details: { reasoning_tokens: reasoning }
      }
    }
  }

  #delta (delta: Delta): ReadPiece {
    const begun: Delta = this.#isBegun ? delta : { role: 'assistant', ...delta }
    this.#isBegun = true
    return { chunk: this.#chunk(begun, null), usage: null }
  }

  #chunk (delta: Delta, reason: FinishReason | null): ChatCompletionChunk {
    return { ...this.#head, choices: [{ index: 0, delta, finish_reason: reason, logprobs: null }] }
  }

  #toolCall ({ index, id, name, arguments: text }: JsonObject) {
    if (typeof text !== 'string') throw wrongPiece('has no arguments as text')
    const at = index ?? this.#calls
    if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at > this.#calls) throw wrongPiece('has a wrong index')
    const isNew = at === this.#calls
    if (isNew && typeof name !== 'string') throw wrongPiece('has no name')
    if (!isNew) return { index: at, function: { arguments: text } }
    this.#calls++
    return {
      index: at,
      id: typeof id === 'string' ? id : `call_${this.#head.id.slice(-12)}${at}`,
      type: 'function' as const,
      function: { name: String(name), arguments: text }
    }
  }
}

function textOf ({ text }: JsonObject): string {
  if (typeof text !== 'string') throw wrongPiece('has no text')
  return text
}

function usageOf (piece: JsonObject): Usage {
  const [prompt, completion] = [tokenCount(piece.prompt), tokenCount(piece.completion)]
  if (prompt === undefined || completion === undefined) throw wrongPiece('has no whole numbers of tokens')
  const usage: Usage = { prompt, completion }
  for (const name of counts) {
    const count = tokenCount(piece[name])
    if (count !== undefined) usage[name] = count
  }
  return usage
}

function wrongPiece (what: string): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', `A piece of the provider's response ${what}.`)
}
