import { isObject, withMembers, type JsonObject } from '../../shared/json.ts'
import { readUsage } from '../report.ts'

// What the members of an answer may be. Clients rely on their types, so one of a wrong type is left out.

type Rule = (value: unknown) => boolean

const isTextOrNull: Rule = value => value === null || typeof value === 'string'
const isObjectOrNull: Rule = value => value === null || isObject(value)
const isListOfObjects: Rule = value => Array.isArray(value) && value.every(isObject)
const isMapOfTexts: Rule = value => value === null ||
  (isObject(value) && Object.values(value).every(one => typeof one === 'string'))
const isMapOfNumbers: Rule = value => isObject(value) && Object.values(value).every(Number.isFinite)

const ofAnswer: Readonly<Record<string, Rule>> = {
  service_tier: isTextOrNull,
  system_fingerprint: isTextOrNull,
  metadata: isMapOfTexts,
  error: isObject,
  job_id: value => typeof value === 'string'
}
const ofChoice: Readonly<Record<string, Rule>> = { logprobs: isObjectOrNull }
const ofMessage: Readonly<Record<string, Rule>> = {
  refusal: isTextOrNull,
  tool_calls: Array.isArray,
  function_call: isObject,
  annotations: isListOfObjects,
  audio: isObjectOrNull,
  videos: isListOfObjects
}
const ofUsage: Readonly<Record<string, Rule>> = {
  cost: Number.isFinite,
  prompt_tokens_details: isMapOfNumbers,
  completion_tokens_details: isMapOfNumbers
}

/** The members to take out of a whole answer or chunk, for `withMembers`. */
export const wrongInAnswer = (body: JsonObject): JsonObject => wrongIn(body, ofAnswer)
/** The same of a choice. */
export const wrongInChoice = (choice: JsonObject): JsonObject => wrongIn(choice, ofChoice)
/** The same of a message or delta. */
export const wrongInMessage = (message: JsonObject): JsonObject => wrongIn(message, ofMessage)

function wrongIn (body: JsonObject, rules: Readonly<Record<string, Rule>>): JsonObject {
  const wrong: JsonObject = {}
  for (const name in rules) if (name in body && rules[name]?.(body[name]) === false) wrong[name] = undefined
  return wrong
}

/**
 * Token counts with those that some servers leave out; undefined when they cannot be read. The same object
 * when nothing has to change.
 */
export function wholeUsage (usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage
  if (![prompt, completion, total].every(Number.isFinite)) {
    const counted = readUsage({ usage })
    if (counted === null) return undefined
    const { prompt, completion } = counted
    const counts = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
    return withMembers({ ...usage, ...counts }, wrongIn(usage, ofUsage))
  }
  return withMembers(usage, wrongIn(usage, ofUsage))
}

/** No request can ask for more choices, except a list of prompts. */
export const mostChoices = 128

/** The choices of an answer or chunk: objects, and not more than a client can have asked for. */
export function choicesIn ({ choices }: JsonObject, asked: number): JsonObject[] {
  if (!Array.isArray(choices)) return []
  const most = Math.max(asked, mostChoices)
  return choices.slice(0, most).filter(isObject)
}
