import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import { isObject, isText } from '../shared/json.ts'
import { shownText } from '../shared/shown-text.ts'

/** Counted by the provider. `prompt` includes cached tokens, `completion` includes reasoning. */
export interface Usage {
  prompt: number
  completion: number
  cachedRead?: number
  cacheWrite?: number
  /** Those of `cacheWrite` that are kept for an hour. */
  cacheWrite1h?: number
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
  /** Whether a stream of bytes had usage that may be unreadable. */
  hasUsage: boolean
  /** Whether more may have been generated than `usage` says. */
  isPartial: boolean
  model: string | null
  /** The provider's id of the answer. */
  id: string | null
  /** Why each choice ended, by its index. */
  finishReasons: Map<number, string>
  /** Whether the gateway has ended the stream because it was longer than what is held. */
  isCut: boolean
  /** The service tier that served the request, as the provider says; null: it does not say. */
  serviceTier: string | null
  /** The text after `usage`, for an estimate if no later count arrives. */
  delivered: DeliveredText
  /** The calls that make up the answer if it took several; each has its own usage. */
  calls?: { request: ChatCompletionRequest, report: StreamReport }[]
  dropped: readonly string[]
  /** Whether the provider may go on with a call that the gateway has closed, and charge for it. */
  mayCostMore?: boolean
}

/** An empty report. */
export function createReport (dropped: readonly string[] = []): StreamReport {
  const delivered = new DeliveredText()
  return {
    usage: null,
    hasUsage: false,
    isPartial: false,
    model: null,
    id: null,
    finishReasons: new Map(),
    isCut: false,
    serviceTier: null,
    delivered,
    dropped
  }
}

const maxNameLength = 256

/** The name or id that an answer states, cut for logs and traces; null: it states none. */
export function statedName (name: unknown): string | null {
  return isText(name) ? shownText(name, maxNameLength) : null
}

/** Records a count that covers everything delivered so far; one of zero does so only at the end. */
export function recordUsage (report: StreamReport, usage: Usage, isPartial: boolean): void {
  report.usage = usage
  report.isPartial = isPartial
  if (isPartial && usage.completion === 0) report.delivered.mark()
  else report.delivered.restart(usage.completion)
}

/** Records the id of an answer or chunk, and why its choices ended, or the one answer of Anthropic's API. */
export function recordFinish (report: StreamReport, body: object): void {
  const { id, choices, stop_reason: only }: { id?: unknown, choices?: unknown, stop_reason?: unknown } = body
  report.id ??= statedName(id)
  const stopped = statedName(only)
  if (stopped !== null) report.finishReasons.set(0, stopped)
  if (!Array.isArray(choices)) return
  for (const [at, choice] of choices.entries()) {
    const reason = isObject(choice) ? statedName(choice.finish_reason) : null
    if (reason === null) continue
    report.finishReasons.set(Number.isInteger(choice.index) ? Number(choice.index) : at, reason)
  }
}

/** Records that the answer is complete: the latest count is final if no text came after it. */
export function recordEnd (report: StreamReport): void {
  const { delivered, usage } = report
  if (!delivered.isMarked) return
  report.isPartial = false
  if (usage !== null) delivered.restart(usage.completion)
}

/** Estimates need no more text than this; the length of the rest is enough. */
const maxKeptBytes = 64 * 1024
const firstBytes = 1024
const nothing = Buffer.alloc(0)

/** Collects generated text: its beginning and its length, in UTF-8; counts images. */
export class DeliveredText {
  #kept = nothing
  #keptBytes = 0
  #bytes = 0
  #spokenBytes = 0
  #images = 0
  #countedTokens = 0
  /** What there was at the latest count. */
  #marked = { bytes: 0, images: 0 }

  takeText (text: string): void {
    if (text === '') return
    const isFull = this.#bytes > this.#keptBytes
    const bytes = Buffer.byteLength(text)
    this.#bytes += bytes
    if (isFull) return
    this.#makeRoom(Math.min(this.#keptBytes + bytes, maxKeptBytes))
    // Writes whole characters only.
    this.#keptBytes += this.#kept.write(text, this.#keptBytes)
  }

  /** Adds pictures that came with the text, and how much of the text was spoken, in bytes. */
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
    this.mark()
  }

  /** Notes that a count came here, which need not cover the text before it. */
  mark (): void {
    this.#marked = { bytes: this.#bytes, images: this.#images }
  }

  /** Whether nothing came after the latest count. */
  get isMarked (): boolean {
    return this.#bytes === this.#marked.bytes && this.#images === this.#marked.images
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
    return this.#kept.toString('utf8', 0, this.#keptBytes)
  }

  /** How many times as long as `text` all of it is. */
  get scale (): number {
    return this.#bytes === 0 ? 1 : this.#bytes / this.#keptBytes
  }

  #makeRoom (bytes: number): void {
    if (bytes <= this.#kept.length) return
    const larger = Buffer.allocUnsafe(Math.min(maxKeptBytes, Math.max(firstBytes, bytes * 2)))
    this.#kept.copy(larger, 0, 0, this.#keptBytes)
    this.#kept = larger
  }
}

/** The service tier that a provider reports, in OpenAI's words; null: none. */
export function readServiceTier (tier: unknown): string | null {
  return !isText(tier) || tier === 'unspecified' ? null : tier === 'standard' ? 'default' : tier
}

/** Whether the provider has counted all of an answer. */
export function isCounted ({ usage, isPartial, delivered, calls }: StreamReport): boolean {
  if (calls !== undefined) return calls.every(({ report }) => isCounted(report))
  return usage !== null && !isPartial && delivered.isEmpty
}

/** Whether the provider has generated anything, as far as is known. */
export function hasOutput ({ usage, isPartial, delivered, calls }: StreamReport): boolean {
  if (calls !== undefined) return calls.some(({ report }) => hasOutput(report))
  return (usage !== null && !isPartial) || delivered.countedTokens > 0 || !delivered.isEmpty
}
