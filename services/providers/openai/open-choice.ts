import { isObject, isText, withMembers, type JsonObject } from '../../shared/json.ts'
import type { Dialect } from './dialects.ts'
import { thinkTagsOf, type ThinkTags } from './think-tags.ts'
import { ToolCallStream } from './tool-calls.ts'
import { finalReason, finishReasonOf, repairMessage, withoutTags, wrongInChoice, type TextHead } from './translate.ts'

/** One choice of a stream, as far as it has come. */
export class OpenChoice {
  /** Whether its finish reason was sent. */
  isFinished = false
  readonly #index: number
  readonly #dialect: Dialect
  readonly #isLegacy: boolean
  readonly #calls = new ToolCallStream()
  readonly #tags: ThinkTags | null
  #hasFunctionCall = false
  #isBegun = false

  constructor (index: number, dialect: Dialect, { object, model }: TextHead, thinkTags?: boolean | null) {
    this.#index = index
    this.#dialect = dialect
    this.#isLegacy = object === 'text_completion'
    this.#tags = thinkTagsOf(model, thinkTags)
  }

  get hasCalls (): boolean {
    return this.#calls.count > 0
  }

  /** Repairs the choice of the next chunk; returns the same object if nothing in it is wrong. */
  take (choice: JsonObject): JsonObject {
    if (saysSomething(choice)) this.isFinished = false
    const reason = this.isFinished ? null : finishReasonOf(choice, this.#dialect)
    const common = { ...wrongInChoice(choice), index: this.#index }
    if (this.#isLegacy) {
      const text = typeof choice.text === 'string' ? choice.text : contentOf(choice)
      return withMembers(choice, { ...common, text, finish_reason: reason })
    }
    const delta = this.#takeDelta(partOf(choice) ?? {})
    const members = { ...common, delta, finish_reason: reason, usage: undefined }
    return withMembers(choice, isObject(choice.delta) ? members : { ...members, message: undefined })
  }

  #takeDelta (given: JsonObject): JsonObject {
    const delta = withoutTags(repairMessage(given), this.#tags)
    const { tool_calls: pieces, function_call: call } = delta
    this.#hasFunctionCall ||= isObject(call)
    const changes: JsonObject = { role: this.#isBegun ? undefined : 'assistant' }
    this.#isBegun = true
    if (Array.isArray(pieces) && pieces.length > 0) changes.tool_calls = this.#calls.take(pieces)
    return withMembers(delta, changes)
  }

  /** Ends the choice. Returns its final reason, and the choices of the chunks that end it. */
  finish (reason: string): { reason: string, choices: JsonObject[] } {
    this.isFinished = true
    const final = finalReason(reason, this.hasCalls, this.#hasFunctionCall)
    const rest = this.#calls.rest()
    const choiceOf = (choice: JsonObject): JsonObject => ({
      index: this.#index, ...(this.#isLegacy ? { text: '' } : { delta: {} }), logprobs: null, ...choice
    })
    const held = this.#tags?.end() ?? { content: '', thoughts: '' }
    const delta: JsonObject = {
      ...(held.content !== '' && { content: held.content }),
      ...(held.thoughts !== '' && { reasoning_content: held.thoughts }),
      ...(rest.length > 0 && { tool_calls: rest })
    }
    const missing = Object.keys(delta).length === 0 ? [] : [choiceOf({ delta, finish_reason: null })]
    return { reason: final, choices: [...missing, choiceOf({ finish_reason: final })] }
  }
}

/** The index of a choice; servers that leave it out number choices by their places. */
export function indexOf ({ index }: JsonObject, at: number): number {
  return Number.isInteger(index) ? Number(index) : at
}

/** The delta of a choice; some servers call it a message. */
function partOf ({ delta, message }: JsonObject): JsonObject | undefined {
  return [delta, message].find(isObject)
}

function contentOf (choice: JsonObject): string {
  const content = partOf(choice)?.content
  return typeof content === 'string' ? content : ''
}

/** Whether a choice has nothing beside its place, its role and its finish reason. */
export function isBlank (choice: JsonObject): boolean {
  const { role: _, ...part } = partOf(choice) ?? {}
  return [choice.text, choice.logprobs, ...Object.values(part)].every(isNothing)
}

function isNothing (value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

const said = ['content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls', 'function_call', 'audio', 'images']

/** Whether a choice has anything but its beginning or its end. */
export function saysSomething (choice: JsonObject): boolean {
  const part = partOf(choice) ?? {}
  return isText(choice.text) || said.some(name => {
    const value = part[name]
    return isText(value) || (Array.isArray(value) ? value.length > 0 : isObject(value))
  })
}
