import { answer, refusal } from './responses.ts'
import { reply, startUpstream, type Script, type Upstream, type UpstreamRequest } from './upstream.ts'

// A local server that refuses what OpenAI refuses, in its words, at the two endpoints for text. Sources:
// openai/openai-openapi#541, GoogleChromeLabs/webmcp-tools#417, atlas-ui-3#756; the types of openai@7.59.0.

type Body = Readonly<Record<string, unknown>>
export type Rule = (body: Body) => { message: string, param?: string, code?: string, status?: number } | null

const listed = (value: unknown): Body[] => Array.isArray(value) ? value : []

/** Chat: functions of reasoning models, models of the other endpoint, members that only others know. */
const noFunctions: Rule = ({ model, tools, reasoning_effort: effort }) => {
  const [, version = '0'] = /^gpt-(\d+(?:\.\d+)?)/.exec(String(model)) ?? []
  const reasons = Number(version) >= 5.6 ? effort !== 'none' : effort !== 'none' && effort !== undefined
  if (Number(version) < 5.4 || !reasons || !listed(tools).some(({ type }) => type === 'function')) return null
  const message = `Function tools with reasoning_effort are not supported for ${String(model)} in /v1/chat/completions. ` +
    'To use function tools, use /v1/responses or set reasoning_effort to \'none\'.'
  return { message, param: 'reasoning_effort' }
}

const onlyResponses: Rule = ({ model }) => /-(pro|codex)|^codex-/.test(String(model))
  ? {
      message: 'This model is only supported in v1/responses and not in v1/chat/completions.',
      param: 'model',
      status: 404
    }
  : null

const chatMembers = new Set(['role', 'content', 'name', 'refusal', 'parsed', 'tool_calls', 'tool_call_id'])
const knownMessages: Rule = ({ messages }) => {
  for (const [at, message] of listed(messages).entries()) {
    const unknown = Object.keys(message).find(name => !chatMembers.has(name)) ??
      listed(message.tool_calls).flatMap(call => Object.keys(call)).find(name => name === 'extra_content')
    if (unknown !== undefined) return { message: `Unknown parameter: 'messages[${at}].${unknown}'.`, code: 'unknown_parameter' }
  }
  return null
}

/** Responses: members of chat, calls without their results, reasoning that is another organization's. */
const responseMembers = new Set([
  'model', 'input', 'stream', 'store', 'include', 'reasoning', 'text', 'tools', 'tool_choice', 'parallel_tool_calls',
  'max_output_tokens', 'temperature', 'top_p', 'metadata', 'user', 'service_tier', 'safety_identifier', 'prompt_cache_key',
  'prompt_cache_options', 'prompt_cache_retention', 'instructions', 'truncation', 'max_tool_calls', 'moderation'
])

const knownMembers: Rule = body => {
  const name = Object.keys(body).find(one => !responseMembers.has(one))
  return name === undefined ? null : { message: `Unknown parameter: '${name}'.`, param: name, code: 'unknown_parameter' }
}

const flatTools: Rule = ({ tools, tool_choice: choice }) => {
  const at = listed(tools).findIndex(({ name, strict, type }) => typeof name !== 'string' || (type === 'function' && typeof strict !== 'boolean'))
  if (at !== -1) return { message: `Missing required parameter: 'tools[${at}].name'.`, param: `tools[${at}].name` }
  const isNested = JSON.stringify(choice ?? null).includes('"function":{')
  return isNested ? { message: 'Unknown parameter: \'tool_choice.function\'.', param: 'tool_choice.function' } : null
}

const pairedCalls: Rule = ({ input }) => {
  const items = listed(input)
  const idsOf = (pattern: RegExp) => items.filter(({ type }) => pattern.test(String(type)))
    .map(({ call_id: id }) => String(id))
  const [called, returned] = [idsOf(/_call$/), idsOf(/_call_output$/)]
  const missing = returned.find(id => !called.includes(id))
  if (missing !== undefined) return { message: `No tool call found for function call output with call_id ${missing}.`, param: 'input' }
  const open = called.find(id => !returned.includes(id))
  if (open !== undefined) return { message: `No tool output found for function call ${open}.`, param: 'input' }
  const long = called.find(id => id.length > 64)
  return long === undefined
    ? null
    : { message: 'Invalid \'input[2].call_id\': string too long. Expected a string with maximum length 64.' }
}

const ownReasoning: Rule = ({ input }) => {
  const foreign = listed(input).some(({ type, encrypted_content: data }) => type === 'reasoning' && data === 'foreign')
  return foreign
    ? {
        message: 'The encrypted content fore...eign could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
        code: 'invalid_encrypted_content'
      }
    : null
}

const noSampling: Rule = ({ temperature, reasoning }) => {
  const { effort } = Object(reasoning)
  return temperature === undefined || temperature === 1 || effort === 'none'
    ? null
    : { message: 'Unsupported parameter: \'temperature\' is not supported with this model.', param: 'temperature' }
}

const chatRules = [noFunctions, onlyResponses, knownMessages]
const responseRules = [knownMembers, flatTools, pairedCalls, ownReasoning, noSampling]

function refused (rules: readonly Rule[], { body }: UpstreamRequest): Script | null {
  const why = rules.map(rule => rule(body ?? {})).find(one => one !== null)
  return why == null ? null : refusal(why.status ?? 400, { param: null, code: null, ...why })
}

/** Rules beside the usual ones, by endpoint. */
export interface MoreRules { chat?: readonly Rule[], responses?: readonly Rule[] }

/** Starts the server; scripts are for `/responses`, from which a request that is refused takes none. */
export async function startOpenAI ({ chat = [], responses = [] }: MoreRules = {}): Promise<Upstream> {
  let standing = answer()
  const upstream = await startUpstream({
    route (request, queued) {
      const { pathname } = new URL(request.path, 'http://upstream')
      if (pathname === '/v1/chat/completions') return refused([...chat, ...chatRules], request) ?? reply()
      if (pathname !== '/v1/responses') return refusal(404, { message: `Invalid URL (${request.method} ${pathname})` })
      return refused([...responses, ...responseRules], request) ?? queued() ?? standing
    }
  })
  return Object.assign(upstream, { always: (script: Script) => { standing = script } })
}
