import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { definePlugin, type ChatCompletionChunk, type PluginContext } from '../types.ts'
import { BoundedPatterns, type PatternRule } from './bounded-patterns.ts'

export interface RedactOptions {
  /** The built-in patterns to use: `email`, `card`, `iban`, `ipv4`, `phone`. */
  detect?: readonly string[]
  /** Further patterns: regular expressions, with what replaces a match. */
  patterns?: readonly { pattern: string, replacement?: string }[]
  /** Whether responses are redacted too; false by default. */
  responses?: boolean
}

/** In the order in which they are applied: the account number of an IBAN looks like a card. */
const builtIn: Readonly<Record<string, string>> = {
  email: String.raw`[\w.+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}`,
  iban: String.raw`\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b`,
  phone: String.raw`\+\d(?:[ \-]?\d){7,14}\b`,
  card: String.raw`\b\d(?:[ \-]?\d){12,18}\b`,
  ipv4: String.raw`\b\d{1,3}(?:\.\d{1,3}){3}\b`
}

const maxPatterns = 50
const maxPatternLength = 1_000
/** Length of the text that a stream holds back; a longer match may be cut in two. */
const heldLength = 256

/** Replaces what matches a pattern in prompts and, with `responses`, in responses. */
export default definePlugin(({ detect = [], patterns = [], responses = false }: RedactOptions) => {
  const rules = new BoundedPatterns(rulesOf(detect, patterns))
  const held = new WeakMap<PluginContext, Map<number, string>>()

  function redactChunk (chunk: ChatCompletionChunk, context: PluginContext): ChatCompletionChunk {
    const texts = held.get(context) ?? new Map<number, string>()
    held.set(context, texts)
    const choices = chunk.choices.map(choice => {
      const { index, delta, finish_reason: reason } = choice
      const text = (texts.get(index) ?? '') + (delta.content ?? '')
      if (text === '') return choice
      const end = reason === null ? rules.endBefore(text, Math.max(0, text.length - heldLength)) : text.length
      texts.set(index, text.slice(end))
      return { ...choice, delta: { ...delta, content: rules.replaceIn([text.slice(0, end)])[0] ?? '' } }
    })
    return { ...chunk, choices }
  }

  return {
    name: 'tollgate/redact',
    request (call) {
      if (call.kind !== 'image') {
        const { messages } = redactedIn({ messages: call.body.messages }, rules)
        return { kind: call.kind, body: { ...call.body, messages } }
      }
      const { prompt } = redactedIn({ prompt: call.body.prompt }, rules)
      return { kind: 'image', body: { ...call.body, prompt } }
    },
    ...responses && {
      chunk: redactChunk,
      response: completion => ({ ...completion, ...redactedIn({ choices: completion.choices }, rules) })
    }
  }
})

/** The members that hold text; others, such as image URLs, stay. */
const written = new Set(['prompt', 'content', 'text', 'arguments', 'input', 'refusal', 'reasoning_content'])

/** A copy with that text replaced, in one call and so within one time limit. */
function redactedIn<Json extends object> (json: Json, rules: BoundedPatterns): Json {
  const texts: string[] = []
  const read = (name: string, value: unknown): unknown => {
    if (typeof value === 'string' && written.has(name)) texts.push(value)
    return value
  }
  JSON.stringify(json, read)
  const replaced = rules.replaceIn(texts)
  let next = 0
  return JSON.parse(JSON.stringify(json, (name, value: unknown) =>
    typeof value === 'string' && written.has(name) ? replaced[next++] : value))
}

/** Throws TypeError for a pattern that is unknown or too long, SyntaxError for an invalid one. */
function rulesOf (detect: unknown, patterns: unknown): PatternRule[] {
  const areLists = Array.isArray(detect) && Array.isArray(patterns)
  if (!areLists) throw new TypeError('takes lists as detect and patterns')
  if (patterns.length > maxPatterns) throw new TypeError(`takes at most ${maxPatterns} patterns`)
  const isUnknown = (name: unknown): boolean => !isText(name) || !Object.hasOwn(builtIn, name)
  if (detect.some(isUnknown)) throw new TypeError(`detects only ${Object.keys(builtIn).join(', ')}`)
  const named = Object.entries(builtIn).filter(([name]) => detect.includes(name))
    .map(([name, pattern]): PatternRule => ({ pattern, replacement: `[${name}]` }))
  const rules = [...named, ...patterns.map(ruleOf)]
  if (rules.length === 0) throw new TypeError('needs detect or patterns')
  return rules
}

function ruleOf (rule: unknown): PatternRule {
  const { pattern, replacement = '[redacted]' }: JsonObject = isObject(rule) ? rule : {}
  if (!isText(pattern) || pattern.length > maxPatternLength) {
    throw new TypeError(`takes patterns of 1 to ${maxPatternLength} characters`)
  }
  if (typeof replacement !== 'string') throw new TypeError('takes replacements that are texts')
  // Throws SyntaxError for an invalid one.
  return { pattern: new RegExp(pattern, 'gu').source, replacement }
}
