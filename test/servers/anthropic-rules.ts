import type { Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { messagesRequest } from './anthropic-shape.ts'

type Request = Static<typeof messagesRequest>
interface Block {
  type: string
  text?: string
  id?: string
  tool_use_id?: string
  thinking?: string
  signature?: string
}
interface Turn { role: string, content: Block[] }

/** Makes the signature that a thinking block must have. */
type Sign = (thinking: string) => string

/**
 * What the API has against a request, in its words; null when it takes it. Source: the types of
 * @anthropic-ai/sdk 1.12.0, their comments, and the model catalogue of @ai-sdk/anthropic 4.0.105.
 */
export function complaintAbout (body: unknown, sign: Sign): string | null {
  if (!Value.Check(messagesRequest, body)) {
    const error = Value.Errors(messagesRequest, body).First()
    return `${error?.path.slice(1).replaceAll('/', '.')}: ${error?.message}`
  }
  const turns = body.messages.map((turn): Turn => {
    return { role: turn.role, content: typeof turn.content === 'string' ? [{ type: 'text', text: turn.content }] : turn.content }
  })
  for (const rule of [aboutModel, aboutTools, aboutThinking, aboutSampling, aboutFormat]) {
    const complaint = rule(body, turns)
    if (complaint !== null) return complaint
  }
  return aboutTexts(body, turns) ?? aboutResults(turns) ?? aboutSeals(turns, sign) ?? aboutCache(body)
}

const matches = (pattern: RegExp) => ({ model }: Request) => pattern.test(model)
const refusesSampling = matches(/opus-4-[78]|(opus|sonnet|haiku|fable)-5/)
const refusesForcing = matches(/(opus|sonnet)-5-5|fable-5-[12]/)
const refusesDisabling = matches(/(opus|sonnet)-5-5|fable-5/)
const refusesBudget = matches(/(opus|sonnet|haiku)-5-5|fable-5/)
const isAdaptive = matches(/(opus|sonnet)-4-[678]|(opus|sonnet|haiku|fable)-5/)
const thinksAtAll = matches(/-4|-5/)
const isStructured = matches(/-4-[15678]|-5/)
const longest: [RegExp, number][] = [
  [/3-haiku/, 4096], [/opus-4-(1|2)/, 32_000], [/sonnet-4-(2|5)|haiku-4-5|opus-4-5/, 64_000], [/./, 128_000]
]

function aboutModel ({ model, max_tokens: limit }: Request): string | null {
  if (!/^claude-/.test(model) || model === 'claude-0') return `model: ${model}`
  const most = longest.find(([name]) => name.test(model))?.[1] ?? 0
  if (limit <= most) return null
  return `max_tokens: ${limit} > ${most}, which is the maximum allowed number of output tokens for ${model}`
}

function aboutTools (request: Request, turns: Turn[]): string | null {
  const { tools, tool_choice: choice } = request
  const isForced = choice?.type === 'any' || choice?.type === 'tool'
  if (choice !== undefined && tools === undefined) return 'tool_choice: may only be specified while providing tools'
  if (isForced && refusesForcing(request)) return 'tool_choice: forced tool use is not supported for this model'
  const uses = turns.some(({ content }) => content.some(({ type }) => type === 'tool_use' || type === 'tool_result'))
  if (uses && tools === undefined) return 'Requests which include `tool_use` or `tool_result` blocks must define tools'
  const names = tools?.map(({ name }) => name) ?? []
  if (new Set(names).size < names.length) return 'tools: Tool names must be unique.'
  return choice?.type === 'tool' && !names.includes(String(choice.name)) ? `Tool '${choice.name}' not found in provided tools` : null
}

/** Which interleaved thinking lifts. */
export const budgetAboveLimit = '`max_tokens` must be greater than `thinking.budget_tokens`'

function aboutThinking (request: Request, turns: Turn[]): string | null {
  const { thinking, tool_choice: choice, max_tokens: limit, output_config: config } = request
  if (config?.effort != null && !isAdaptive(request)) return 'output_config.effort: not supported for this model'
  if (config?.effort === 'xhigh' && /4-6/.test(request.model)) return 'output_config.effort: xhigh is not supported for this model'
  if (thinking === undefined) return null
  if (!thinksAtAll(request)) return 'thinking: not supported for this model'
  if (thinking.type === 'adaptive' && !isAdaptive(request)) return 'thinking.type: adaptive is not supported for this model'
  if (thinking.type === 'disabled' && refusesDisabling(request)) return 'thinking: cannot be disabled for this model'
  if (thinking.type === 'between_tools' && !/sonnet-5-5/.test(request.model)) return 'thinking.type: not supported for this model'
  if (thinking.type !== 'enabled') return null
  if (refusesBudget(request)) return 'thinking.type: enabled is not supported for this model'
  if (Number(thinking.budget_tokens) >= limit) return budgetAboveLimit
  if (choice?.type === 'any' || choice?.type === 'tool') return 'Thinking may not be enabled when tool_choice forces tool use.'
  const [before, last] = turns.slice(-2)
  const isLoop = last?.content.some(({ type }) => type === 'tool_result') === true
  return isLoop && before?.content[0]?.type.includes('thinking') !== true
    ? 'Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` ' +
      'message must start with a thinking block.'
    : null
}

function aboutSampling (request: Request): string | null {
  const { temperature, top_p: topP, top_k: topK, thinking } = request
  const given = [temperature, topP, topK].filter(value => value !== undefined)
  if (given.length === 0) return null
  if (refusesSampling(request)) return 'temperature: not supported for this model'
  if (temperature !== undefined && topP !== undefined) return '`temperature` and `top_p` cannot both be specified for this model.'
  return thinking !== undefined && thinking.type !== 'disabled' ? '`temperature` may only be set to 1 when thinking is enabled.' : null
}

function aboutFormat (request: Request): string | null {
  const schema = request.output_config?.format?.schema
  if (schema === undefined) return null
  if (!isStructured(request)) return 'output_config.format: not supported for this model'
  return aboutSchema(schema)
}

const keywords = new Set([
  '$schema', '$id', '$ref', '$defs', 'definitions', 'title', 'description', 'type', 'enum', 'const', 'default', 'required',
  'properties', 'additionalProperties', 'items', 'minItems', 'anyOf', 'allOf', 'format'
])

function aboutSchema (node: unknown): string | null {
  if (typeof node !== 'object' || node === null) return null
  const unknown = Object.keys(node).find(key => !keywords.has(key))
  if (unknown !== undefined) return `output_config.format.schema: For '${Reflect.get(node, 'type')}' type, property '${unknown}' is not supported`
  if (Reflect.get(node, 'type') === 'object' && Reflect.get(node, 'additionalProperties') !== false) {
    return 'output_config.format.schema: For \'object\' type, \'additionalProperties\' must be explicitly set to false'
  }
  const maps = ['properties', '$defs', 'definitions'].flatMap(key => Object.values(Reflect.get(node, key) ?? {}))
  const lists = ['items', 'anyOf', 'allOf'].flatMap(key => Reflect.get(node, key) ?? [])
  return [...maps, ...lists].map(aboutSchema).find(complaint => complaint !== null) ?? null
}

function aboutTexts ({ system }: Request, turns: Turn[]): string | null {
  const texts = [...Array.isArray(system) ? system : [], ...turns.flatMap(({ content }) => content)].filter(({ type }) => type === 'text')
  if (texts.some(({ text }) => String(text).trim() === '')) return 'messages: text content blocks must contain non-whitespace text'
  const last = turns.at(-1)
  const end = last?.role === 'assistant' ? last.content.at(-1)?.text ?? '' : ''
  return end !== end.trimEnd() ? 'messages: final assistant content cannot end with trailing whitespace' : null
}

/** Neighbours of equal role count as one turn. */
function merged (turns: Turn[]): Turn[] {
  const result: Turn[] = []
  for (const { role, content } of turns) {
    if (result.at(-1)?.role === role) result.at(-1)?.content.push(...content)
    else result.push({ role, content: [...content] })
  }
  return result
}

function aboutResults (given: Turn[]): string | null {
  const turns = merged(given)
  for (const [at, { role, content }] of turns.entries()) {
    const results = content.filter(({ type }) => type === 'tool_result').map(block => String(block.tool_use_id))
    const uses = turns[at - 1]?.content.filter(({ type }) => type === 'tool_use').map(block => String(block.id)) ?? []
    const odd = results.find(id => !uses.includes(id))
    if (odd !== undefined) return `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${odd}`
    const missing = role === 'user' ? uses.find(id => !results.includes(id)) : undefined
    if (missing !== undefined) return `messages.${at - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing}`
    if (content.slice(0, results.length).some(({ type }) => results.length > 0 && type !== 'tool_result')) {
      return `messages.${at}: \`tool_result\` blocks must come first`
    }
  }
  const ids = turns.flatMap(({ content }) => content.flatMap(({ type, id }) => type === 'tool_use' ? [id] : []))
  return new Set(ids).size < ids.length ? 'messages: `tool_use` ids must be unique' : null
}

function aboutSeals (turns: Turn[], sign: Sign): string | null {
  for (const [at, { content }] of turns.entries()) {
    const broken = content.findIndex(({ type, thinking, signature }) => type === 'thinking' && signature !== sign(String(thinking)))
    if (broken !== -1) return `messages.${at}.content.${broken}: Invalid \`signature\` in \`thinking\` block`
  }
  return null
}

function aboutCache (request: Request): string | null {
  const marks = JSON.stringify(request).split('"cache_control":{').length - 1
  return marks > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.` : null
}
