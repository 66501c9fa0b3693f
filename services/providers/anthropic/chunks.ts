import type { ChatCompletionChunk, ChatCompletionDelta } from '../../../schemas/openai/chat-completions.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { recordChunk } from '../generated-text.ts'
import type { FinishReason } from '../provider.ts'
import { recordUsage, statedName, type StreamReport, type Usage } from '../report.ts'
import { messageHead, textOf, toThinkingBlock } from './completion.ts'
import { mapStopReason, refusalText } from './map-stop-reason.ts'
import { toReasoningDetail, toExtraContent } from './thinking-signature.ts'
import { chargedUsageOf, isSearchResult, noCounts, toUsage, updateCounts, withSearches, type Counts } from './usage.ts'
import type { ThinkingBlock } from './wire.ts'

/** OpenAI's format has no field for thoughts; these are the ones most clients read. */
type Delta = ChatCompletionDelta & { reasoning_content?: string, reasoning_details?: JsonObject[] }

type OpenBlock =
  { type: 'tool', index: number, input: unknown, isEmpty: boolean } |
  { type: 'thought', thought: ThinkingBlock }

/**
 * Turns the events of one message into chunks. The first chunk, with the role, waits for the first content,
 * so that a message that fails at once can be replaced. Source: @anthropic-ai/sdk 1.12.0,
 * RawMessageStreamEvent.
 */
export class MessageChunks {
  isDone = false
  readonly #report: StreamReport
  readonly #open = new Map<unknown, OpenBlock>()
  #head = messageHead({})
  #hasStarted = false
  #hasBegun = false
  #calls = 0
  #searches = 0
  #thoughts = 0
  /** Thinking since the last tool call; it is sent along with the next one. */
  #fresh: ThinkingBlock[] = []
  #counts: Counts

  constructor (report: StreamReport, counts: Counts = noCounts) {
    this.#report = report
    this.#counts = counts
  }

  take (event: JsonObject): ChatCompletionChunk[] {
    switch (event.type) {
      case 'message_start': return this.#start(event.message)
      case 'content_block_start': return this.#beginBlock(event.index, event.content_block)
      case 'content_block_delta': return this.#continueBlock(this.#open.get(event.index), event.delta)
      case 'content_block_stop': return this.#endBlock(event.index)
      case 'message_delta': return this.#end(event)
      case 'message_stop': return this.#stop()
      default: return []
    }
  }

  /** `message_start` may be repeated; the first one counts. */
  #start (message: unknown): ChatCompletionChunk[] {
    if (this.#hasStarted || !isObject(message)) return []
    this.#hasStarted = true
    this.#head = messageHead(message)
    this.#report.model = statedName(this.#head.model)
    this.#report.serviceTier = this.#head.service_tier ?? null
    this.#counts = updateCounts(this.#counts, message.usage)
    const usage = this.#usage
    // The output it counts is sent later, so it covers no text. Some servers do not know the input yet.
    if (usage !== null && usage.prompt > 0) Object.assign(this.#report, { usage, isPartial: true })
    return []
  }

  #beginBlock (at: unknown, block: unknown): ChatCompletionChunk[] {
    if (!isObject(block)) return []
    const thought = toThinkingBlock(block)
    if (thought !== null) {
      this.#open.set(at, { type: 'thought', thought })
      return this.#deltas(...reasoning(thought.type === 'thinking' ? thought.thinking : ''))
    }
    if (isSearchResult(block)) this.#countSearch()
    if (block.type !== 'tool_use') return this.#deltas(...content(textOf(block.text)))
    const index = this.#calls++
    this.#open.set(at, { type: 'tool', index, input: block.input, isEmpty: true })
    const extra = toExtraContent(this.#fresh)
    this.#fresh = []
    return this.#deltas({
      tool_calls: [{
        index,
        id: textOf(block.id),
        type: 'function',
        function: { name: textOf(block.name), arguments: '' },
        ...(extra === null ? {} : { extra_content: extra })
      }]
    })
  }

  /** The total comes at the end, which a client or a provider may not wait for. */
  #countSearch (): void {
    this.#counts = withSearches(this.#counts, ++this.#searches)
    const { searches } = this.#counts
    const { usage } = this.#report
    if (usage !== null && searches !== null) this.#report.usage = { ...usage, searches }
  }

  #continueBlock (block: OpenBlock | undefined, delta: unknown): ChatCompletionChunk[] {
    if (!isObject(delta)) return []
    if (delta.type === 'text_delta') return this.#deltas(...content(textOf(delta.text)))
    if (block?.type === 'tool' && delta.type === 'input_json_delta') {
      const piece = textOf(delta.partial_json)
      if (piece === '') return []
      block.isEmpty = false
      return this.#deltas(args(block.index, piece))
    }
    if (block?.type !== 'thought' || block.thought.type !== 'thinking') return []
    if (delta.type === 'signature_delta') block.thought.signature += textOf(delta.signature)
    if (delta.type !== 'thinking_delta') return []
    const text = textOf(delta.thinking)
    block.thought.thinking += text
    return this.#deltas(...reasoning(text))
  }

  #endBlock (at: unknown): ChatCompletionChunk[] {
    const block = this.#open.get(at)
    this.#open.delete(at)
    if (block === undefined) return []
    if (block.type === 'thought') {
      this.#fresh.push(block.thought)
      return this.#deltas({ reasoning_details: [toReasoningDetail(block.thought, this.#thoughts++)] })
    }
    // A tool call without input sends no delta, but empty arguments would not be JSON.
    return block.isEmpty ? this.#deltas(args(block.index, JSON.stringify(block.input ?? {}))) : []
  }

  /** Its counts are totals; those with a reason to stop are final, even if `message_stop` does not follow. */
  #end ({ delta, usage }: JsonObject): ChatCompletionChunk[] {
    this.#counts = updateCounts(this.#counts, usage)
    const { stop_reason: reason, stop_details: details } = isObject(delta) ? delta : {}
    const refusal = refusalText(reason, details)
    const chunks = typeof reason === 'string'
      ? [...this.#deltas(...refusal === null ? [] : [{ refusal }]), this.#chunk({}, mapStopReason(reason))]
      : []
    const isCounted = isObject(usage) && usage.output_tokens != null
    if (isCounted && this.#usage !== null) recordUsage(this.#report, this.#usage, chunks.length === 0)
    return chunks
  }

  /** Null if the provider has not said how long the prompt is. */
  get #usage (): Usage | null {
    return chargedUsageOf(this.#counts)
  }

  #stop (): ChatCompletionChunk[] {
    this.isDone = true
    const usage = this.#counts.input === null ? {} : { usage: toUsage(this.#counts) }
    return [{ ...this.#head, object: 'chat.completion.chunk', choices: [], ...usage }]
  }

  #deltas (...deltas: Delta[]): ChatCompletionChunk[] {
    const first = this.#hasBegun ? [] : [this.#chunk({ role: 'assistant', content: '', refusal: null })]
    this.#hasBegun = true
    const chunks = deltas.map(delta => this.#chunk(delta))
    for (const chunk of chunks) recordChunk(this.#report, chunk)
    return [...first, ...chunks]
  }

  #chunk (delta: Delta, reason: FinishReason | null = null): ChatCompletionChunk {
    return { ...this.#head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] }
  }
}

function content (text: string): Delta[] {
  return text === '' ? [] : [{ content: text }]
}

function reasoning (text: string): Delta[] {
  return text === '' ? [] : [{ reasoning_content: text }]
}

function args (index: number, piece: string): Delta {
  return { tool_calls: [{ index, function: { arguments: piece } }] }
}
