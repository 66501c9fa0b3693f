import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { errorFromFields } from '../error-body.ts'
import type { FinishReason } from '../provider.ts'
import { readUsage, tokenCount, valueAt, type Usage } from '../report.ts'
import type { Dialect } from './dialects.ts'

/** The error that a body with status 200 carries; null when it carries none. */
export function upstreamErrorIn (body: JsonObject, dialect: Dialect): UpstreamError | null {
  const choices = Array.isArray(body.choices) ? body.choices : []
  if (body.error) return errorFromFields(body.error, 200)
  if (!choices.some(choice => finishReasonOf(choice, dialect) === 'error')) return null
  return new UpstreamError('overloaded', 'yes', 'The provider stopped with an error.')
}

/** The finish reason of a choice in OpenAI's words; unknown ones pass. */
function finishReasonOf (choice: unknown, dialect: Dialect): FinishReason | 'error' | unknown {
  const reason = isObject(choice) ? choice.finish_reason : undefined
  return typeof reason === 'string' ? dialect.finishReasons[reason] ?? reason : reason
}

/** Byte sequences, one of which is in every answer or chunk of the dialect that needs translating. */
export function translationMarks ({ finishReasons, reasoningField, contentParts }: Dialect): Buffer[] {
  const words = Object.keys(finishReasons)
  if (reasoningField !== null) words.push(reasoningField)
  const marks = words.map(word => `"${word}"`)
  // With and without a space, as servers write JSON.
  if (contentParts) marks.push('"content":[', '"content": [')
  return marks.map(mark => Buffer.from(mark))
}

/** An answer or a chunk in OpenAI's form; the same object when nothing has to change. */
export function translateAnswer (body: JsonObject, dialect: Dialect): JsonObject {
  const before: unknown[] = Array.isArray(body.choices) ? body.choices : []
  const choices = before.map(choice => isObject(choice) ? translateChoice(choice, dialect) : choice)
  return choices.every((choice, index) => choice === before[index]) ? body : { ...body, choices }
}

function translateChoice (choice: JsonObject, dialect: Dialect): JsonObject {
  const reason = finishReasonOf(choice, dialect)
  const key = isObject(choice.delta) ? 'delta' : 'message'
  const message = choice[key]
  const translated = isObject(message) ? translateMessage(message, dialect) : message
  if (reason === choice.finish_reason && translated === message) return choice
  return { ...choice, [key]: translated, finish_reason: reason }
}

function translateMessage (message: JsonObject, { reasoningField, contentParts }: Dialect): JsonObject {
  const { content } = message
  if (contentParts && Array.isArray(content)) {
    const thoughts = content.filter(isThought).map(textIn).join('')
    const text = content.filter(part => !isThought(part)).map(textIn).join('')
    return { ...message, content: text, ...(thoughts === '' ? {} : { reasoning_content: thoughts }) }
  }
  if (reasoningField === null || typeof message[reasoningField] !== 'string') return message
  const { [reasoningField]: thoughts, ...others } = message
  return { ...others, reasoning_content: message.reasoning_content ?? thoughts }
}

const isThought = (part: unknown): boolean => isObject(part) && part.type === 'thinking'

/** `{type: 'text', text}`, or `{type: 'thinking', thinking: [{type: 'text', text}]}`. */
function textIn (part: unknown): string {
  if (!isObject(part)) return ''
  const { text, thinking } = part
  if (Array.isArray(thinking)) return thinking.map(textIn).join('')
  return typeof text === 'string' ? text : typeof thinking === 'string' ? thinking : ''
}

/** The usage in an answer or chunk, with its reported cost and searches if any; null: none. */
export function readDialectUsage (body: JsonObject, dialect: Dialect): Usage | null {
  const { usagePath, cost, searches } = dialect
  const usage = readUsage(countReasoning(body, dialect), usagePath)
  if (usage === null) return null
  const costNano = cost === null || !isObject(body.usage) ? null : cost(body.usage)
  const isCounted = searches?.models.test(isText(body.model) ? body.model : '') === true
  const count = isCounted ? tokenCount(valueAt(body, searches.path)) : undefined
  if (costNano !== null) usage.costNano = costNano
  if (count !== undefined) usage.searches = count
  return usage
}

/** The body with reasoning tokens counted in the completion, as OpenAI does; the same if they are. */
export function countReasoning (body: JsonObject, { reasoningApart }: Dialect): JsonObject {
  const { usage } = body
  if (!reasoningApart || !isObject(usage)) return body
  const { prompt_tokens: prompt, completion_tokens: completion = 0, total_tokens: total } = usage
  if (typeof prompt !== 'number' || typeof completion !== 'number' || typeof total !== 'number') return body
  if (total <= prompt + completion) return body
  return { ...body, usage: { ...usage, completion_tokens: total - prompt } }
}
