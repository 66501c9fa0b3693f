import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { cutShort } from '../named-events.ts'
import type { JsonObject } from '../../shared/json.ts'
import {
  functionCallOf, responseHead, imageOf, isEmpty, toolCallOf, type ResponseOptions, type Head
} from './response.ts'
import { readCandidates, type CandidateContent } from './candidate.ts'
import { mapFinishReason, promptRefusal } from './map-finish-reason.ts'
import { extraContent } from './signatures.ts'
import { usageOf } from './usage.ts'

type Choice = ChatCompletionChunk['choices'][number]
/** OpenAI's delta with the extensions that other gateways use. */
type Delta = Choice['delta'] & { reasoning_content?: string, images?: JsonObject[] }

interface ChoiceState {
  calls: number
  /** Whether its first chunk, with the role, was sent. */
  isOpen: boolean
  isEmpty: boolean
  finish: string | null
  finishMessage: string
}

/** Turns the partial responses of one stream into chunks. */
export class ResponseChunks {
  /** The latest count; each response reports the total so far. */
  usage: CompletionUsage | null = null
  readonly #options: ResponseOptions
  readonly #choices = new Map<number, ChoiceState>()
  #head: Head | null = null
  #promptRefusal: string | null = null

  constructor (options: ResponseOptions) {
    this.#options = options
  }

  /** The model that answers; null until the first response. */
  get model (): string | null {
    return this.#head?.model ?? null
  }

  chunks (response: JsonObject): ChatCompletionChunk[] {
    this.#head ??= responseHead(response, this.#options)
    this.#promptRefusal ??= promptRefusal(response)
    this.usage = usageOf(response.usageMetadata) ?? this.usage
    return readCandidates(response).flatMap(candidate => this.#grow(candidate))
  }

  /** The final chunks of all choices, and the usage. Throws UpstreamError if a choice has not ended. */
  end (): ChatCompletionChunk[] {
    if (this.#choices.size === 0 && this.#promptRefusal !== null) {
      return [...this.#close(0, newChoice(), 'content_filter', this.#promptRefusal), this.#chunk()]
    }
    if (this.#choices.size === 0) throw cutShort()
    const endings = [...this.#choices].flatMap(([index, choice]) => {
      const { finish, finishMessage, isEmpty, calls } = choice
      if (finish === null) throw cutShort()
      const { reason, refusal } = mapFinishReason({
        finish, finishMessage, hasCalls: calls > 0, isEmpty, isLegacy: this.#options.isLegacy
      })
      return this.#close(index, choice, reason, refusal)
    })
    return [...endings, this.#chunk()]
  }

  #grow (candidate: CandidateContent): ChatCompletionChunk[] {
    const { index } = candidate
    const choice = this.#choices.get(index) ?? newChoice()
    this.#choices.set(index, choice)
    const deltas = this.#deltasOf(candidate, choice.calls)
    const chunks = deltas.map((delta, place) => {
      return this.#delta(index, delta, place === 0 ? candidate.logprobs : null)
    })
    if (deltas.length > 0) chunks.unshift(...this.#open(index, choice))
    choice.isEmpty &&= isEmpty(candidate)
    choice.calls += candidate.calls.length
    // Some models send a reason with every response; the last one counts.
    choice.finish = candidate.finish ?? choice.finish
    choice.finishMessage = candidate.finishMessage || choice.finishMessage
    return chunks
  }

  #deltasOf ({ text, reasoning, calls, images, signature }: CandidateContent, callsBefore: number): Delta[] {
    const deltas: Delta[] = []
    if (reasoning !== '') deltas.push({ reasoning_content: reasoning })
    if (text !== '' || signature !== null) {
      deltas.push({ content: text, ...(signature === null ? {} : extraContent(signature)) })
    }
    if (images.length > 0) deltas.push({ images: images.map(imageOf) })
    for (const [place, call] of calls.entries()) {
      const index = callsBefore + place
      if (!this.#options.isLegacy) deltas.push({ tool_calls: [{ index, ...toolCallOf(call) }] })
      else if (index === 0) deltas.push({ function_call: functionCallOf(call) })
    }
    return deltas
  }

  /** The role is sent with the first content, so that a failure before it keeps its status. */
  #open (index: number, choice: ChoiceState): ChatCompletionChunk[] {
    if (choice.isOpen) return []
    choice.isOpen = true
    return [this.#delta(index, { role: 'assistant', content: '', refusal: null })]
  }

  #close (
    index: number, choice: ChoiceState, reason: Choice['finish_reason'], refusal: string | null
  ): ChatCompletionChunk[] {
    return [
      ...this.#open(index, choice),
      ...(refusal === null ? [] : [this.#delta(index, { refusal })]),
      this.#chunk({ index, delta: {}, logprobs: null, finish_reason: reason })
    ]
  }

  #delta (index: number, delta: Delta, logprobs: Choice['logprobs'] = null): ChatCompletionChunk {
    return this.#chunk({ index, delta, logprobs, finish_reason: null })
  }

  #chunk (choice?: Choice): ChatCompletionChunk {
    const head = this.#head ?? responseHead({}, this.#options)
    if (choice !== undefined) return { ...head, object: 'chat.completion.chunk', choices: [choice] }
    return { ...head, object: 'chat.completion.chunk', choices: [], usage: this.usage }
  }
}

function newChoice (): ChoiceState {
  return { calls: 0, isOpen: false, isEmpty: true, finish: null, finishMessage: '' }
}
