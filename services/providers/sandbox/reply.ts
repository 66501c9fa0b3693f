import { randomUUID } from 'node:crypto'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ChatContext } from './chat-context.ts'
import { extractValues } from './prompt-values.ts'
import { fnv1aHash } from './hash.ts'
import { jsonProse, prose, variantCount } from './prose.ts'
import { sampleSchema } from './sample-schema.ts'
import { countSandboxTokens, splitTokens } from './tokens.ts'
import { planCalls, type PlannedCall } from './tools.ts'

export interface Reply {
  index: number
  /** The text as tokens; null if the reply is tool calls. */
  content: string[] | null
  /** As tokens; only of scripts. */
  reasoning?: string[] | null
  refusal?: string[] | null
  calls: ReplyCall[]
  finish: 'stop' | 'length' | 'tool_calls' | 'function_call' | 'content_filter'
  /** Completion tokens: of the text, or of the calls' names and inputs. */
  tokens: number
}

export interface ReplyCall {
  id: string
  form: PlannedCall['form']
  name: string
  /** The arguments, or the text for a custom tool, as tokens. */
  input: string[]
}

const maxReplyTokens = 16_384

/** Choice `index` of a completion. Throws UpstreamError if a tool is forced that is not declared. */
export function composeReply (request: ChatCompletionRequest, context: ChatContext, index: number): Reply {
  const limit = request.max_completion_tokens ?? request.max_tokens ?? maxReplyTokens
  const maxTokens = Math.min(limit, maxReplyTokens)
  const echo = echoOf(context.userText)
  const isForced = typeof request.tool_choice === 'object' || request.tool_choice === 'required' ||
    typeof request.function_call === 'object'
  const planned = echo === null || isForced ? planCalls(request, context, index) : []
  if (planned.length > 0) return callReply(planned, maxTokens, index)
  return textReply(echo ?? composeText(request, context, index), request.stop, maxTokens, index)
}

/** The text to repeat after `Repeat exactly:`, `Say:` or `Reply with exactly`; else null. */
function echoOf (text: string): string | null {
  const repeated = /^\s*repeat exactly: ?([\s\S]+)$/i.exec(text)
  const quoted = /^\s*(?:say:|reply with exactly:?)\s*["“]([\s\S]*)["”]\s*$/i.exec(text)
  const unquoted = /^\s*reply with exactly:? ?([\s\S]+)$/i.exec(text)
  return (repeated ?? quoted ?? unquoted)?.[1] ?? null
}

function composeText (request: ChatCompletionRequest, context: ChatContext, index: number): string {
  const { seed, temperature, response_format: format } = request
  const { readText, instructions, turns } = context
  const wording = fnv1aHash(readText, instructions, String(turns), String(seed ?? ''), String(temperature ?? ''))
  const variant = (wording + index) % variantCount
  if (format?.type === 'json_object') return jsonProse(context, variant)
  if (format?.type !== 'json_schema') return prose(context, variant)
  const schema = format.json_schema.schema ?? { type: 'object' }
  return JSON.stringify(sampleSchema(schema, extractValues(readText), index))
}

function textReply (text: string, stop: ChatCompletionRequest['stop'], maxTokens: number, index: number): Reply {
  const ends = [stop ?? []].flat().filter(mark => mark !== '').map(mark => text.indexOf(mark)).filter(at => at >= 0)
  const tokens = splitTokens(text.slice(0, Math.min(text.length, ...ends)), maxTokens + 1)
  const content = tokens.slice(0, maxTokens)
  return { index, content, calls: [], finish: tokens.length > maxTokens ? 'length' : 'stop', tokens: content.length }
}

function callReply (planned: readonly PlannedCall[], maxTokens: number, index: number): Reply {
  const calls: ReplyCall[] = []
  let left = maxTokens
  for (const { form, name, input } of planned) {
    left -= countSandboxTokens(name)
    const tokens = splitTokens(input, Math.max(0, left) + 1)
    if (left >= 0) calls.push({ id: callId(), form, name, input: tokens.slice(0, left) })
    left -= tokens.length
    if (left < 0) break
  }
  const finish = left < 0 ? 'length' : planned[0]?.form === 'legacy' ? 'function_call' : 'tool_calls'
  const tokens = calls.reduce((sum, { name, input }) => sum + countSandboxTokens(name) + input.length, 0)
  return { index, content: null, calls, finish, tokens }
}

const callId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`
