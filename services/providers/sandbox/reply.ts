import { randomUUID } from 'node:crypto'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { Conversation } from './conversation.ts'
import { readFacts } from './facts.ts'
import { hashOf } from './hash.ts'
import { jsonProse, prose, variants } from './prose.ts'
import { sample } from './sample.ts'
import { countTokens, splitTokens } from './tokens.ts'
import { planCalls } from './tools.ts'
import type { PlannedCall } from './tool-types.ts'

/** One choice of an answer, before it takes OpenAI's form. */
export interface Reply {
  index: number
  /** The tokens of the text; null when the reply consists of calls. */
  content: string[] | null
  calls: ReplyCall[]
  finish: 'stop' | 'length' | 'tool_calls' | 'function_call'
  /** How many tokens the reply costs: those of its text and of its calls' names and inputs. */
  tokens: number
}

export interface ReplyCall {
  id: string
  form: PlannedCall['form']
  name: string
  /** The tokens of the arguments, or of the text for a custom tool. */
  input: string[]
}

/** The most tokens a reply has when the request sets no lower limit. */
export const maxReplyTokens = 16_384

/**
 * Composes the reply number `index` to a request; replies of different numbers differ where the request
 * leaves room. Throws UpstreamError when the request forces a tool it does not offer.
 */
export function composeReply (
  request: ChatCompletionRequest, conversation: Conversation, index: number
): Reply {
  const limit = request.max_completion_tokens ?? request.max_tokens ?? maxReplyTokens
  const maxTokens = Math.min(limit, maxReplyTokens)
  const echo = echoOf(conversation.userText)
  const isForced = typeof request.tool_choice === 'object' || request.tool_choice === 'required' ||
    typeof request.function_call === 'object'
  const planned = echo === null || isForced ? planCalls(request, conversation, index) : []
  if (planned.length > 0) return callReply(planned, maxTokens, index)
  return textReply(echo ?? composeText(request, conversation, index), request.stop, maxTokens, index)
}

/** The text after `Repeat exactly:`, or in the quotes after `Say:` and `Reply with exactly`; else null. */
function echoOf (text: string): string | null {
  const repeated = /^\s*repeat exactly: ?([\s\S]+)$/i.exec(text)
  const quoted = /^\s*(?:say:|reply with exactly:?)\s*["“]([\s\S]*)["”]\s*$/i.exec(text)
  const unquoted = /^\s*reply with exactly:? ?([\s\S]+)$/i.exec(text)
  return (repeated ?? quoted ?? unquoted)?.[1] ?? null
}

function composeText (request: ChatCompletionRequest, conversation: Conversation, index: number): string {
  const { seed, temperature, response_format: format } = request
  const { readText, instructions, turns } = conversation
  const wording = hashOf(readText, instructions, String(turns), String(seed ?? ''), String(temperature ?? ''))
  const variant = (wording + index) % variants
  if (format?.type === 'json_object') return jsonProse(conversation, variant)
  if (format?.type !== 'json_schema') return prose(conversation, variant)
  const schema = format.json_schema.schema ?? { type: 'object' }
  return JSON.stringify(sample(schema, readFacts(readText), index))
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
    left -= countTokens(name)
    const tokens = splitTokens(input, Math.max(0, left) + 1)
    if (left >= 0) calls.push({ id: callId(), form, name, input: tokens.slice(0, left) })
    left -= tokens.length
    if (left < 0) break
  }
  const finish = left < 0 ? 'length' : planned[0]?.form === 'legacy' ? 'function_call' : 'tool_calls'
  const tokens = calls.reduce((sum, { name, input }) => sum + countTokens(name) + input.length, 0)
  return { index, content: null, calls, finish, tokens }
}

const callId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`
