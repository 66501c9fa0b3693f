import { isText, type JsonObject } from '../../shared/json.ts'
import { doneEvent, encodeEvent, eventsIn } from '../../upstream/sse.ts'
import type { Usage } from '../report.ts'
import { eventObjects } from './event-objects.ts'

/** How a stream's length is judged while it runs; see `Dialect.outputGuard`. */
export type GuardKind = 'by-event' | 'by-text'

/** Servers may split one step into several events, e.g. where thoughts end and a tool call begins. */
const freeEvents = 4
const freeShare = 16
/** Bytes of JSON per token that no text has on average, however it is cut into events. */
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

  /**
   * The place in a piece from which nothing is passed on, at the start of an event; -1: all is. `texts` has
   * the start and end of each generated text, in turn.
   */
  endIn (piece: Buffer, texts: readonly number[]): number {
    let counted = -1
    for (let i = 0; i + 1 < texts.length; i += 2) {
      const [start = 0, end = 0] = [texts[i], texts[i + 1]]
      if (end === start) continue
      this.#bytes += end - start
      // Nearly all pieces have one event with one text.
      if (counted === -1 || piece.subarray(counted, start).includes('\n\n')) {
        this.#events++
        counted = start
      }
      if (!this.#isOver()) continue
      const before = piece.lastIndexOf('\n\n', start)
      const cut = before === -1 ? 0 : before + 2
      this.#noteFinished(piece.subarray(0, cut))
      return cut
    }
    this.#noteFinished(piece)
    return -1
  }

  /** Counts an event without a finish reason; returns whether the stream is now longer than what is held. */
  countEvent (textBytes: number): boolean {
    if (textBytes === 0) return false
    this.#bytes += textBytes
    this.#events++
    return this.#isOver()
  }

  /** Whether a count of the provider is more than what is held. */
  isExceededBy (usage: Usage): boolean {
    return usage.completion > this.#maxTokens
  }

  #isOver (): boolean {
    if (this.#bytes > this.#maxBytes) return true
    return this.#events > this.#maxEvents && this.#bytes > this.#leastBytes
  }

  #noteFinished (piece: Buffer): void {
    if (this.#choices === 1 || !piece.includes('"finish_reason"')) return
    for (const { data } of eventsIn(piece)) {
      if (!/"finish_reason": *"/.test(data)) continue
      for (const { choices } of eventObjects(data)?.objects ?? []) {
        for (const choice of Array.isArray(choices) ? choices : []) {
          if (isText(choice?.finish_reason)) this.#finished.add(choice.index)
        }
      }
    }
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
