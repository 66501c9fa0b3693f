import { isText, type JsonObject } from '../../shared/json.ts'
import { doneEvent, encodeEvent } from '../upstream/sse.ts'
import type { Usage } from '../report.ts'

/** How a stream's length is judged while it runs; see `Dialect.outputGuard`. */
export type GuardKind = 'by-event' | 'by-text'

/** Servers may split one step into several events, e.g. where thoughts end and a tool call begins. */
const freeEvents = 4
const freeShare = 16
/** Bytes per token that no text has on average, however it is cut into events. */
const longTokenBytes = 32
const freeBytes = 1024
/** The same for text whose events may be parts of tokens: most tokens are shorter. */
const usualTokenBytes = 8

/**
 * Finds the place where a stream has become longer than what is held, for servers that may ignore a limit.
 * It errs on the long side: a server that keeps to the limit is never cut.
 */
export class OutputGuard {
  readonly #maxEvents: number
  readonly #maxBytes: number
  /** Bytes that the events must have together as well. */
  readonly #leastBytes: number
  readonly #choices: number
  readonly #maxTokens: number
  readonly #finished = new Set<number>()
  #events = 0
  #bytes = 0

  /** `tokens`: the most of one answer; `choices`: the answers of the stream. */
  constructor (kind: GuardKind, tokens: number, choices: number) {
    const most = tokens * choices
    this.#choices = choices
    this.#maxTokens = most
    this.#maxEvents = most + freeEvents * choices + Math.floor(most / freeShare)
    this.#maxBytes = most * longTokenBytes + freeBytes
    this.#leastBytes = kind === 'by-event' ? 0 : most * usualTokenBytes
  }

  /** Counts the text of an event; returns whether the stream is longer with it than what is held. */
  exceedsWith (text: string): boolean {
    if (text === '') return false
    this.#bytes += Buffer.byteLength(text)
    this.#events++
    if (this.#bytes > this.#maxBytes) return true
    return this.#events > this.#maxEvents && this.#bytes > this.#leastBytes
  }

  /** Whether a count of the provider is more than what is held. */
  isExceededBy (usage: Usage): boolean {
    return usage.completion > this.#maxTokens
  }

  /** Notes the choices of a chunk that have ended: they are not ended again. */
  noteFinished (choices: unknown): void {
    if (this.#choices === 1 || !Array.isArray(choices)) return
    for (const choice of choices) if (isText(choice?.finish_reason)) this.#finished.add(choice.index)
  }

  /**
   * The events that end the stream as a server does that has reached its limit. `head`: the first chunk,
   * which has at least `object`; `usage`: what to tell the client; null: nothing.
   */
  closingEvents (head: JsonObject, usage: Usage | null): Buffer[] {
    const { choices: _, usage: __, ...chunk } = head
    const isLegacy = chunk.object === 'text_completion'
    const indices = Array.from({ length: this.#choices }, (_, index) => index)
    const choices = indices.filter(index => !this.#finished.has(index)).map(index => {
      return { index, ...(isLegacy ? { text: '' } : { delta: {} }), logprobs: null, finish_reason: 'length' }
    })
    const last = usage === null ? [] : [encodeEvent({ ...chunk, choices: [], usage: usageOf(usage) })]
    return [encodeEvent({ ...chunk, choices }), ...last, doneEvent]
  }
}

function usageOf ({ prompt, completion }: Usage): JsonObject {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}
