import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, ownMember, withMembers, type JsonObject } from '../../shared/json.ts'
import { errorFromFields } from '../error-body.ts'
import type { FinishReason } from '../provider.ts'
import type { Usage } from '../report.ts'
import { countsIn, openaiUsage, risenUsage, tokenCount, usageIn, valueAt } from '../usage.ts'
import type { Dialect } from './dialects.ts'
import { membersOfParts } from './content-parts.ts'
import { thinkTagsOf, type ThinkTags } from './think-tags.ts'
import { repairToolCalls } from './tool-calls.ts'

/** The error that a body with status 200 carries, without the `secret`; null when it carries none. */
export function upstreamErrorIn (
  body: JsonObject, { dialect, secret }: { dialect: Dialect, secret: string | null }
): UpstreamError | null {
  const choices = Array.isArray(body.choices) ? body.choices : []
  if (body.error) return errorFromFields(body.error, 200, secret)
  if (isBareError(body)) return errorFromFields(body, 200, secret)
  if (!choices.some(choice => finishReasonOf(choice, dialect) === 'error')) return null
  return new UpstreamError('overloaded', 'yes', 'The provider stopped with an error.')
}

/** Whether a body without an answer is an error: that of vLLM, FastAPI or Anthropic, or one with a code. */
function isBareError ({ object, type, detail, message, code, choices }: JsonObject): boolean {
  if (object === 'error') return true
  if (Array.isArray(choices)) return false
  const hasCode = isText(code) || (typeof code === 'number' && code >= 400)
  return type === 'error' || isText(detail) || (isText(message) && hasCode)
}

/**
 * The finish reason of a choice in OpenAI's words, `error` for a failure; null: none. A reason that is not in
 * the lists is `length`, so that no client takes the response for finished.
 */
export function finishReasonOf (choice: unknown, { finishReasons }: Dialect): string | null {
  const reason = isObject(choice) ? choice.finish_reason : null
  if (!isText(reason)) return null
  const word = reason.toLowerCase()
  if (word === 'null' || word === 'none') return null
  return ownMember(finishReasons, reason) ?? ownMember(commonReasons, word) ??
    (filterReason.test(word) ? 'content_filter' : 'length')
}

/** Words of the servers and models behind compatible APIs, seen in their streams and whole answers. */
const commonReasons: Readonly<Record<string, FinishReason | 'error'>> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  stop_token: 'stop',
  end: 'stop',
  done: 'stop',
  complete: 'stop',
  completed: 'stop',
  finished: 'stop',
  success: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'function_call',
  error: 'error',
  abort: 'error',
  failed: 'error'
}

/** Google's API for one says `content_filter: PROHIBITED_CONTENT`. */
const filterReason = /filter|safety|sensitive|prohibited|blocklist|recitation|spii/

/** The finish reason of a choice that is complete: calls of tools are the reason where there are any. */
export function finalReason (reason: string, hasCalls: boolean, hasFunctionCall: boolean): string {
  if (reason !== 'stop' && reason !== 'tool_calls' && reason !== 'function_call') return reason
  return hasCalls ? 'tool_calls' : hasFunctionCall ? 'function_call' : 'stop'
}

/** What the members are that every chunk of a stream, or a whole answer, has in common. */
export interface TextHead extends JsonObject {
  id: string
  object: string
  created: number
  model: string
}

/** The head of an answer; `fallback` has what the provider leaves out, and the right kind of object. */
export function headOf ({ id, created, model }: JsonObject, fallback: TextHead): TextHead {
  return {
    id: isText(id) ? id : fallback.id,
    object: fallback.object,
    created: typeof created === 'number' ? created : fallback.created,
    model: isText(model) ? model : fallback.model
  }
}

/**
 * A whole answer, from `withUsage`, as a valid one of OpenAI's; the same object when nothing has to change.
 * `fallback`: the head of an answer that has none; `asked`: how many choices the client asked for.
 */
export function repairResponse (
  body: JsonObject, dialect: Dialect, fallback: TextHead, requested: number, thinkTags?: boolean | null
): JsonObject {
  const isLegacy = fallback.object === 'text_completion'
  const given = choicesIn(body, requested)
  const choices = given.map((choice, at) => {
    const index = Number.isInteger(choice.index) ? choice.index : at
    return isLegacy
      ? repairText(choice, index, dialect)
      : repairChoice(choice, index, dialect, thinkTagsOf(fallback.model, thinkTags))
  })
  const before: unknown[] = Array.isArray(body.choices) ? body.choices : []
  const isSame = choices.length === before.length && choices.every((choice, at) => choice === before[at])
  const usage = isObject(body.usage) ? body.usage : undefined
  const { id, object, created, model } = headOf(body, fallback)
  const whole = { id, object, created, model, choices: isSame ? body.choices : choices, usage }
  return withMembers(withMembers(body, wrongInResponse(body)), whole)
}

function repairText (choice: JsonObject, index: unknown, dialect: Dialect): JsonObject {
  const { message } = choice
  const text = [choice.text, isObject(message) ? message.content : ''].find(text => typeof text === 'string') ?? ''
  const reason = finalReason(finishReasonOf(choice, dialect) ?? 'stop', false, false)
  return withMembers(choice, { ...wrongInChoice(choice), index, text, finish_reason: reason })
}

function repairChoice (
  choice: JsonObject, index: unknown, dialect: Dialect, tags: ThinkTags | null
): JsonObject {
  const given = [choice.message, choice.delta].find(isObject) ?? { content: choice.text }
  const translated = withoutTags(repairMessage(given), tags, true)
  const { tool_calls: calls, function_call: call } = translated
  const hasCalls = Array.isArray(calls) && calls.length > 0
  const content = typeof translated.content === 'string' ? translated.content : null
  const members: JsonObject = { role: 'assistant', content }
  if (hasCalls) members.tool_calls = repairToolCalls(calls)
  if (isObject(call)) members.function_call = withMembers(call, textMembers(call, ['name', 'arguments']))
  const message = withMembers(translated, members)
  const reason = finalReason(finishReasonOf(choice, dialect) ?? 'stop', hasCalls, isObject(call))
  const whole = { index, message, finish_reason: reason, usage: undefined }
  return withMembers(withMembers(choice, wrongInChoice(choice)), whole)
}

/**
 * A message or delta with thoughts, content and function call in OpenAI's form; tool calls stay. The same
 * object when nothing has to change.
 */
export function repairMessage (message: JsonObject): JsonObject {
  const { content, reasoning_content: own, reasoning: thoughts, function_call: call } = message
  const changes = wrongInMessage(message)
  if (Array.isArray(content)) {
    Object.assign(changes, membersOfParts(content, message))
  } else if (content !== undefined && content !== null && typeof content !== 'string') {
    changes.content = undefined
  }
  if (isText(thoughts)) Object.assign(changes, { reasoning: undefined, reasoning_content: own ?? thoughts })
  if (isObject(call) && typeof call.arguments !== 'string' && call.arguments !== undefined) {
    changes.function_call = { ...call, arguments: JSON.stringify(call.arguments) }
  }
  return isObject(message.tool_calls)
    ? withMembers(message, { ...changes, tool_calls: [message.tool_calls] })
    : withMembers(message, changes)
}

/** A message or delta whose thoughts are in `reasoning_content`; `isLast`: no more of the text follows. */
export function withoutTags (message: JsonObject, tags: ThinkTags | null, isLast = false): JsonObject {
  const { content, reasoning_content: given } = message
  if (tags === null || typeof content !== 'string') return message
  const said = tags.take(content)
  const rest = isLast ? tags.end() : { content: '', thoughts: '' }
  const thoughts = `${isText(given) ? given : ''}${said.thoughts}${rest.thoughts}`
  return withMembers(message, {
    content: said.content + rest.content, reasoning_content: thoughts === '' ? given : thoughts
  })
}

/** Members that have to be texts. */
function textMembers (called: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, typeof called[name] === 'string' ? called[name] : '']))
}

/**
 * A response or chunk with its usage in OpenAI's form, or without one that cannot be read; none of its counts
 * is below those `before`. The same object when nothing has to change.
 */
export function withUsage (body: JsonObject, dialect: Dialect, before: JsonObject | null = null): JsonObject {
  const found = usageIn(body, dialect.usagePath)
  if (found === null) return body
  const usage = openaiUsage(found, dialect.reasoningApart)
  return withMembers(body, { usage: usage === null ? undefined : risenUsage(usage, before) })
}

/** The counts of a response or chunk from `withUsage`, with its reported cost and searches; null: none. */
export function chargedUsageIn (body: JsonObject, { cost, searches }: Dialect): Usage | null {
  if (!isObject(body.usage)) return null
  const usage = countsIn(body.usage)
  const costNano = cost === null ? null : cost(body.usage)
  const isCounted = searches?.models.test(isText(body.model) ? body.model : '') === true
  const count = isCounted ? tokenCount(valueAt(body, searches.path)) : undefined
  if (costNano !== null) usage.costNano = costNano
  if (count !== undefined) usage.searches = count
  return usage
}

// What the members of an answer may be. Clients rely on their types, so one of a wrong type is left out.

type Rule = (value: unknown) => boolean

const isTextOrNull: Rule = value => value === null || typeof value === 'string'
const isObjectOrNull: Rule = value => value === null || isObject(value)
const isListOfObjects: Rule = value => Array.isArray(value) && value.every(isObject)
const isMapOfTexts: Rule = value => value === null ||
  (isObject(value) && Object.values(value).every(one => typeof one === 'string'))

type Rules = readonly (readonly [name: string, rule: Rule])[]

const responseRules: Rules = Object.entries({
  service_tier: isTextOrNull,
  system_fingerprint: isTextOrNull,
  metadata: isMapOfTexts,
  error: isObject,
  job_id: value => typeof value === 'string'
} satisfies Record<string, Rule>)
const ofChoice: Rules = Object.entries({ logprobs: isObjectOrNull })
const ofMessage: Rules = Object.entries({
  refusal: isTextOrNull,
  tool_calls: Array.isArray,
  function_call: isObject,
  annotations: isListOfObjects,
  audio: isObjectOrNull,
  videos: isListOfObjects
} satisfies Record<string, Rule>)

/** The members to take out of a whole answer or chunk, for `withMembers`. */
export const wrongInResponse = (body: JsonObject): JsonObject => wrongIn(body, responseRules)
/** The same of a choice. */
export const wrongInChoice = (choice: JsonObject): JsonObject => wrongIn(choice, ofChoice)
/** The same of a message or delta. */
const wrongInMessage = (message: JsonObject): JsonObject => wrongIn(message, ofMessage)

function wrongIn (body: JsonObject, rules: Rules): JsonObject {
  const wrong: JsonObject = {}
  for (const [name, isRight] of rules) if (name in body && !isRight(body[name])) wrong[name] = undefined
  return wrong
}

/** No request can ask for more choices, except a list of prompts. */
export const maxChoices = 128

/** The choices of an answer or chunk: objects, and not more than a client can have asked for. */
export function choicesIn ({ choices }: JsonObject, requested: number): JsonObject[] {
  if (!Array.isArray(choices)) return []
  const most = Math.max(requested, maxChoices)
  return choices.slice(0, most).filter(isObject)
}
