import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'

/** Counted by the provider. `prompt` includes cached tokens, `completion` includes reasoning. */
export interface Usage {
  prompt: number
  completion: number
  cachedRead?: number
  cacheWrite?: number
  reasoning?: number
  /** Audio tokens among `prompt` and `completion`; absent: charged as text. */
  audioInput?: number
  audioOutput?: number
  /** The cost reported by the provider, in nano-USD. */
  costNano?: number
  /** Web searches that the provider made, where each has a price. */
  searches?: number
}

/** What is known of an answer so far; filled while it is read. */
export interface StreamReport {
  /** The latest count of the provider. It covers all that was generated before `delivered`. */
  usage: Usage | null
  /** Whether more may have been generated than `usage` says. */
  isPartial: boolean
  model: string | null
  /** Whether the gateway has ended the stream because it was longer than what is held. */
  isCut: boolean
  /** The service tier that served the request, as the provider says; null: it does not say. */
  serviceTier: string | null
  /** The text after `usage`, for an estimate if no later count arrives. */
  delivered: DeliveredText
  /** The calls that make up the answer if it took several; each has its own usage. */
  calls?: { request: ChatCompletionRequest, report: StreamReport }[]
  dropped: readonly string[]
}

/** An empty report. */
export function createReport (dropped: readonly string[] = []): StreamReport {
  const delivered = new DeliveredText()
  return { usage: null, isPartial: false, model: null, isCut: false, serviceTier: null, delivered, dropped }
}

/** Records a count that covers everything delivered so far. */
export function recordUsage (report: StreamReport, usage: Usage, isPartial: boolean): void {
  report.usage = usage
  report.isPartial = isPartial
  report.delivered.restart(usage.completion)
}

/** Records that the answer is complete: the latest count is final if no text came after it. */
export function recordEnd (report: StreamReport): void {
  if (report.delivered.isEmpty) report.isPartial = false
}

/** Estimates need no more text than this; the length of the rest is enough. */
const maxKeptBytes = 64 * 1024
const firstBytes = 1024
const backslash = 0x5c
const letterU = 0x75

/** Collects generated text, as the inside of a JSON string: its beginning and its length; counts images. */
export class DeliveredText {
  #kept = Buffer.alloc(0)
  #keptBytes = 0
  #bytes = 0
  #spokenBytes = 0
  #images = 0
  #countedTokens = 0

  /** Adds strings of JSON that start at `from` or later; `places`: start and end of each, in turn. */
  take (piece: Buffer, places: readonly number[], from = 0): void {
    for (let i = 0; i + 1 < places.length; i += 2) {
      const start = places[i] ?? 0
      if (start >= from) this.#keep(piece, start, places[i + 1] ?? 0)
    }
  }

  takeText (text: string): void {
    if (text === '') return
    const bytes = Buffer.from(JSON.stringify(text))
    this.#keep(bytes, 1, bytes.length - 1)
  }

  /** Adds pictures that came with the text, and how much of the text was spoken, in bytes of JSON. */
  takeMedia (images: number, spokenBytes: number): void {
    this.#images += images
    this.#spokenBytes += spokenBytes
  }

  /** Forgets the text, because the provider has counted it; `tokens` is the count of the answer so far. */
  restart (tokens: number): void {
    this.#keptBytes = 0
    this.#bytes = 0
    this.#spokenBytes = 0
    this.#images = 0
    this.#countedTokens = tokens
  }

  /** Tokens that the provider counted before the text. */
  get countedTokens (): number {
    return this.#countedTokens
  }

  get isEmpty (): boolean {
    return this.#bytes === 0 && this.#images === 0
  }

  get images (): number {
    return this.#images
  }

  /** How much of the text is the transcript of audio, from 0 to 1. */
  get spokenShare (): number {
    return this.#bytes === 0 ? 0 : Math.min(1, this.#spokenBytes / this.#bytes)
  }

  /** The beginning of the text. */
  get text (): string {
    const kept = this.#kept.toString('utf8', 0, this.#keptBytes)
    try {
      return String(JSON.parse(`"${kept}"`))
    } catch {
      // Invalid JSON; the raw text is good enough for an estimate.
      return kept
    }
  }

  /** How many times as long as `text` all of it is. */
  get scale (): number {
    return this.#bytes === 0 ? 1 : this.#bytes / this.#keptBytes
  }

  #keep (piece: Buffer, start: number, end: number): void {
    const isFull = this.#bytes > this.#keptBytes
    this.#bytes += end - start
    if (isFull) return
    const room = maxKeptBytes - this.#keptBytes
    const fits = end - start <= room ? end : lastCharacterBefore(piece, start, start + room)
    const keptBytes = this.#keptBytes + fits - start
    if (keptBytes > this.#kept.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxKeptBytes, Math.max(firstBytes, keptBytes * 2)))
      this.#kept.copy(larger, 0, 0, this.#keptBytes)
      this.#kept = larger
    }
    piece.copy(this.#kept, this.#keptBytes, start, fits)
    this.#keptBytes = keptBytes
  }
}

/** The last place up to `limit` that cuts no escape sequence of the JSON string that begins at `start`. */
function lastCharacterBefore (piece: Buffer, start: number, limit: number): number {
  for (let at = start; ;) {
    const length = piece[at] !== backslash ? 1 : piece[at + 1] === letterU ? 6 : 2
    if (at + length > limit) return at
    at += length
  }
}
