import { isObject } from '../../services/shared/json.ts'
import { reply as claudeReply, type Said } from './anthropic.ts'
import { says, type Response } from './gemini.ts'
import { answer, message, reasoning } from './responses.ts'
import { reply, type Completion, type Script } from './upstream.ts'

// A model that does what its prompt says, behind each of four APIs, so that a client can be judged whatever
// the number and order of its requests. Lines of the prompt:
//   CALL <tool> <JSON>   calls a tool; a second line is the call after the result of the first
//   SAY <text>           answers when all calls were made; without it the answer repeats the results. A text
//                        of several lines is a JSON string
//   JSON <JSON>          the answer where an object is asked for, also by a tool that must be called
//   THINK <text>         thoughts ahead of all that, where the client wants them

/** A request without the differences between APIs. */
interface Turn {
  /** Texts of the user and results of tools, in order. */
  said: { from: 'user' | 'tool', text: string }[]
  tools: string[]
  /** Whether a tool must be called. */
  isForced: boolean
  wantsJson: boolean
}

interface Deed {
  thought: string | null
  text: string
  call: { name: string, input: Record<string, unknown> } | null
}

function deedFor ({ said, tools, isForced, wantsJson }: Turn): Deed {
  const at = said.findLastIndex(({ from, text }) => from === 'user' && /^(CALL|SAY|JSON|THINK) /m.test(text))
  const prompt = said[at]?.text ?? ''
  const lines = (verb: string) => [...prompt.matchAll(new RegExp(`^${verb} (.*)$`, 'gm'))].map(([, rest = '']) => rest)
  const results = said.slice(at + 1).filter(({ from }) => from === 'tool').map(({ text }) => text)
  const [thought = null] = lines('THINK')
  const [name = '', input = '{}'] = /^(\S+) ?(.*)$/.exec(lines('CALL')[results.length] ?? '')?.slice(1) ?? []
  const [json = '{}'] = lines('JSON')
  const [forced] = isForced ? tools : []
  const [say = results.join(' | ') || 'Done.'] = wantsJson ? [json] : lines('SAY')
  const text: string = say.startsWith('"') ? JSON.parse(say) : say
  if (tools.includes(name)) return { thought, text: '', call: { name, input: JSON.parse(input) } }
  if (forced !== undefined) return { thought, text: '', call: { name: forced, input: JSON.parse(json) } }
  return { thought, text, call: null }
}

// ---- OpenAI's chat completions.

/** Answers requests for chat completions. */
export const obedientChat: Script = exchange => {
  const { body, number } = exchange.request
  const { thought, text, call } = deedFor(chatTurn(Object(body)))
  const id = `call_${String(number).padStart(24, '0')}`
  const own = (value: Completion): Completion =>
    JSON.parse(JSON.stringify(value).replaceAll(/call_[0-9a-zA-Z]{20,}/g, id))
  const thoughts = thought === null ? {} : { reasoning_content: thought }
  const tools = call === null ? [] : [{ name: call.name, arguments: JSON.stringify(call.input) }]
  return reply(call === null ? { text } : { tools }, {
    completion: whole => {
      const [choice] = whole.choices
      if (choice === undefined) return whole
      return own({ ...whole, choices: [{ ...choice, message: { ...Object(choice.message), ...thoughts } }] })
    },
    chunks: ([first, ...rest]) => {
      if (first === undefined) return []
      const thinking = { ...first, choices: [{ index: 0, delta: thoughts, finish_reason: null }] }
      return [first, ...thought === null ? [] : [thinking], ...rest.map(own)]
    }
  })(exchange)
}

interface ChatBody {
  messages: { role: string, content?: unknown }[]
  tools?: { function: { name: string } }[]
  tool_choice?: unknown
  response_format?: { type: string }
}

function chatTurn ({ messages, tools = [], tool_choice: choice, response_format: format }: ChatBody): Turn {
  const named: unknown = Object(Object(choice).function).name
  return {
    said: messages.flatMap(({ role, content }) => {
      return role === 'user' || role === 'tool' ? [{ from: role, text: textOf(content) }] : []
    }),
    tools: typeof named === 'string' ? [named] : choice === 'none' ? [] : tools.map(tool => tool.function.name),
    isForced: choice === 'required' || isObject(choice),
    wantsJson: format !== undefined && format.type !== 'text'
  }
}

// ---- OpenAI's responses.

/** Answers requests for responses. */
export const obedientResponses: Script = exchange => {
  const body: ResponsesBody = Object(exchange.request.body)
  const { thought, text, call } = deedFor(responsesTurn(body))
  const id = String(exchange.request.number).padStart(24, '0')
  const thoughts = thought === null ? [] : [reasoning(`sealed-${id}`, `rs_${id}`, thought)]
  const called = call && {
    type: 'function_call',
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name: call.name,
    arguments: JSON.stringify(call.input),
    status: 'completed'
  }
  return answer({ output: [...thoughts, called ?? message(text, `msg_${id}`)] })(exchange)
}

interface ResponsesBody {
  input: string | { role?: string, type?: string, content?: unknown, output?: unknown }[]
  tools?: { name: string }[]
  tool_choice?: string | { name?: string }
  text?: { format?: { type: string } }
}

function responsesTurn ({ input, tools = [], tool_choice: choice, text }: ResponsesBody): Turn {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const named = Object(choice).name
  return {
    said: items.flatMap(({ role, type, content, output }): Turn['said'] => {
      if (type === 'function_call_output') return [{ from: 'tool', text: textOf(output) }]
      return role === 'user' ? [{ from: 'user', text: textOf(content) }] : []
    }),
    tools: typeof named === 'string' ? [named] : choice === 'none' ? [] : tools.map(({ name }) => name),
    isForced: choice === 'required' || isObject(choice),
    wantsJson: text?.format !== undefined && text.format.type !== 'text'
  }
}

// ---- Anthropic's messages.

/** Answers requests for messages. */
export const obedientClaude: Script = exchange => {
  const body: ClaudeBody = Object(exchange.request.body)
  const { thought, text, call } = deedFor(claudeTurn(body))
  const { type: thinking = 'disabled' } = body.thinking ?? {}
  const said: Said[] = thought === null || thinking === 'disabled' ? [] : [{ thinking: thought }]
  const id = `toolu_${String(exchange.request.number).padStart(24, '0')}`
  said.push(call === null ? text : { tool: call.name, input: call.input, id })
  return claudeReply({ said })(exchange)
}

interface ClaudeBody {
  messages: { role: string, content: string | { type: string, text?: string, content?: unknown }[] }[]
  tools?: { name: string }[]
  tool_choice?: { type: string, name?: string }
  thinking?: { type: string }
  output_config?: { format?: unknown }
}

function claudeTurn ({ messages, tools = [], tool_choice: choice, output_config: config }: ClaudeBody): Turn {
  const names = tools.map(({ name }) => name)
  return {
    said: messages.filter(({ role }) => role === 'user').flatMap(({ content }): Turn['said'] => {
      if (typeof content === 'string') return [{ from: 'user', text: content }]
      return content.flatMap(({ type, text, content }): Turn['said'] => {
        if (type === 'tool_result') return [{ from: 'tool', text: textOf(content) }]
        return text === undefined ? [] : [{ from: 'user', text }]
      })
    }),
    tools: choice?.name !== undefined ? [choice.name] : choice?.type === 'none' ? [] : names,
    isForced: choice?.type === 'any' || choice?.type === 'tool',
    wantsJson: config?.format != null
  }
}

// ---- Gemini.

/** Answers requests for content. */
export const obedientGemini: Script = exchange => {
  const body: GeminiBody = Object(exchange.request.body)
  const { thought, text, call } = deedFor(geminiTurn(body))
  const isShown = body.generationConfig?.thinkingConfig?.includeThoughts === true
  const thoughts = thought === null || !isShown ? [] : [{ text: thought, thought: true }]
  const id = `fc${exchange.request.number}`
  const said = call === null
    ? { text }
    : { functionCall: { id, name: call.name, args: call.input }, thoughtSignature: Buffer.from(id).toString('base64') }
  const usageMetadata = { promptTokenCount: 8, candidatesTokenCount: 5, totalTokenCount: 13 }
  const pieces: Response[] = [...thoughts, said].map(part => ({
    candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...part === said ? { finishReason: 'STOP' as const } : {} }],
    usageMetadata
  }))
  return says(pieces)(exchange)
}

interface GeminiBody {
  contents: { role?: string, parts: { text?: string, functionResponse?: { response: object } }[] }[]
  tools?: { functionDeclarations: { name: string }[] }[]
  toolConfig?: { functionCallingConfig: { mode: string, allowedFunctionNames?: string[] } }
  generationConfig?: { responseMimeType?: string, thinkingConfig?: { includeThoughts?: boolean } }
}

function geminiTurn ({ contents, tools = [], toolConfig, generationConfig }: GeminiBody): Turn {
  const { mode = 'AUTO', allowedFunctionNames: allowed } = toolConfig?.functionCallingConfig ?? {}
  const names = tools.flatMap(({ functionDeclarations: declared }) => declared.map(({ name }) => name))
  return {
    said: contents.filter(({ role }) => role !== 'model').flatMap(({ parts }) => parts).flatMap(
      ({ text, functionResponse: response }): Turn['said'] => {
        if (response !== undefined) return [{ from: 'tool', text: Object.values(response.response).map(textOf).join() }]
        return text === undefined ? [] : [{ from: 'user', text }]
      }),
    tools: mode === 'NONE' ? [] : allowed ?? names,
    isForced: mode === 'ANY',
    wantsJson: generationConfig?.responseMimeType === 'application/json'
  }
}

/** A text, the texts of parts, or other JSON as text. */
function textOf (content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content) ?? ''
  return content.map(part => String(Object(part).text ?? '')).join('')
}
