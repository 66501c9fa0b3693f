import { isObject, type JsonObject } from '../../shared/json.ts'
import type { Dialect } from './dialects.ts'
import { finishReasonOf } from './answer.ts'

/**
 * What stands, as bytes, in every answer or chunk of a dialect that has to be translated. None for a dialect
 * that speaks as OpenAI does.
 */
export function marksOf ({ finishReasons, reasoningField, contentParts }: Dialect): Buffer[] {
  const words = Object.keys(finishReasons)
  if (reasoningField !== null) words.push(reasoningField)
  const marks = words.map(word => `"${word}"`)
  // With and without a space, as servers write JSON.
  if (contentParts) marks.push('"content":[', '"content": [')
  return marks.map(mark => Buffer.from(mark))
}

/**
 * A whole answer or a chunk in OpenAI's words: finish reasons, thoughts in `reasoning_content`, content as
 * text. The same object when nothing has to change.
 */
export function translateAnswer (body: JsonObject, dialect: Dialect): JsonObject {
  const before: unknown[] = Array.isArray(body.choices) ? body.choices : []
  const choices = before.map(choice => isObject(choice) ? translateChoice(choice, dialect) : choice)
  return choices.every((choice, index) => choice === before[index]) ? body : { ...body, choices }
}

function translateChoice (choice: JsonObject, dialect: Dialect): JsonObject {
  const reason = finishReasonOf(choice, dialect)
  const key = isObject(choice.delta) ? 'delta' : 'message'
  const said = choice[key]
  const translated = isObject(said) ? translateSaid(said, dialect) : said
  if (reason === choice.finish_reason && translated === said) return choice
  return { ...choice, [key]: translated, finish_reason: reason }
}

function translateSaid (said: JsonObject, { reasoningField, contentParts }: Dialect): JsonObject {
  const { content } = said
  if (contentParts && Array.isArray(content)) {
    const thoughts = content.filter(isThought).map(textIn).join('')
    const text = content.filter(part => !isThought(part)).map(textIn).join('')
    return { ...said, content: text, ...(thoughts === '' ? {} : { reasoning_content: thoughts }) }
  }
  if (reasoningField === null || typeof said[reasoningField] !== 'string') return said
  const { [reasoningField]: thoughts, ...others } = said
  return { ...others, reasoning_content: said.reasoning_content ?? thoughts }
}

const isThought = (part: unknown): boolean => isObject(part) && part.type === 'thinking'

/** `{type: 'text', text}`, or `{type: 'thinking', thinking: [{type: 'text', text}]}`. */
function textIn (part: unknown): string {
  if (!isObject(part)) return ''
  const { text, thinking } = part
  if (Array.isArray(thinking)) return thinking.map(textIn).join('')
  return typeof text === 'string' ? text : typeof thinking === 'string' ? thinking : ''
}
