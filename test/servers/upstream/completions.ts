import type { UpstreamRequest } from './exchange.ts'

// Answers of api.openai.com, as recorded in August and September 2025.

export interface Answer {
  /** Streamed word by word, or in the given pieces. With tools and without text, content is null. */
  text?: string | string[]
  tools?: { name: string, arguments: string }[]
  finishReason?: string
  /** The reported model; by default a dated form of the requested one. */
  model?: string
  usage?: { prompt: number, completion: number, cached?: number, reasoning?: number }
}

export interface Choice { index: number, finish_reason: string | null, [key: string]: unknown }
export interface Completion { choices: Choice[], usage?: object | null, [key: string]: unknown }

/** The JSON answer to a chat or text completion request; deterministic. */
export function completion (request: UpstreamRequest, answer: Answer = {}): Completion {
  const legacy = isLegacy(request)
  const finishReason = finishReasonOf(answer)
  const choices = Array.from({ length: choiceCount(request) }, (_, index): Choice => legacy
    ? { text: wordsOf(answer).join(''), index, logprobs: null, finish_reason: finishReason }
    : { index, message: messageOf(answer), finish_reason: finishReason })
  const { id, created, model } = identityOf(request, answer)
  if (legacy) return { id, object: 'text_completion', created, model, choices, usage: usageOf(answer, legacy) }
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices,
    usage: usageOf(answer, legacy),
    service_tier: 'default',
    system_fingerprint: null
  }
}

/** The chunks of a streamed answer without `[DONE]`; deterministic. */
export function chunks (request: UpstreamRequest, answer: Answer = {}): Completion[] {
  const legacy = isLegacy(request)
  const includeUsage = streamOption(request, 'include_usage') === true
  const obfuscated = !legacy && streamOption(request, 'include_obfuscation') !== false
  const { id, created, model } = identityOf(request, answer)
  const envelope = legacy
    ? { id, object: 'text_completion', created, model }
    : { id, object: 'chat.completion.chunk', created, model, service_tier: 'default', system_fingerprint: null }
  const choices = Array.from({ length: choiceCount(request) }, (_, index) => {
    return legacy ? textChoices(index, answer) : deltaChoices(index, answer)
  }).flat()
  const noUsage = includeUsage ? { usage: null } : {}
  const list: Completion[] = choices.map((choice) => ({ ...envelope, choices: [choice], ...noUsage }))
  if (includeUsage) list.push({ ...envelope, choices: [], usage: usageOf(answer, legacy) })
  if (!obfuscated) return list
  return list.map((chunk, index) => ({ ...chunk, obfuscation: 'WuQNXIPio8PDeczE'.slice(index * 7 % 16) }))
}

function deltaChoices (index: number, answer: Answer): Choice[] {
  const { text, tools = [] } = answer
  const opening = { role: 'assistant', content: text === undefined && tools.length > 0 ? null : '', refusal: null }
  const calls = tools.flatMap((tool, index) => [
    { index, id: toolId(index), type: 'function', function: { name: tool.name, arguments: '' } },
    ...inPieces(tool.arguments, 8).map((piece) => ({ index, function: { arguments: piece } }))
  ])
  const deltas = [
    opening,
    ...wordsOf(answer).map((content) => ({ content })),
    ...calls.map((call) => ({ tool_calls: [call] }))
  ]
  return [
    ...deltas.map((delta) => ({ index, delta, finish_reason: null })),
    { index, delta: {}, finish_reason: finishReasonOf(answer) }
  ]
}

function textChoices (index: number, answer: Answer): Choice[] {
  const words = wordsOf(answer)
  return words.map((text, position) => {
    const isLast = position === words.length - 1
    return { text, index, logprobs: null, finish_reason: isLast ? finishReasonOf(answer) : null }
  })
}

function messageOf (answer: Answer): object {
  const { text, tools = [] } = answer
  const content = text === undefined && tools.length > 0 ? null : wordsOf(answer).join('')
  const calls = tools.map((tool, index) => ({ id: toolId(index), type: 'function', function: tool }))
  const toolCalls = calls.length > 0 ? { tool_calls: calls } : {}
  return { role: 'assistant', content, ...toolCalls, refusal: null, annotations: [] }
}

function wordsOf ({ text, tools = [] }: Answer): string[] {
  if (Array.isArray(text)) return text
  if (text === undefined && tools.length > 0) return []
  return (text ?? 'Hi there! Tell me what you’d like to do.').match(/\s*\S+|\s+$/g) ?? []
}

function inPieces (text: string, length: number): string[] {
  const count = Math.ceil(text.length / length)
  return Array.from({ length: count }, (_, index) => text.slice(index * length, (index + 1) * length))
}

function finishReasonOf ({ finishReason, tools = [] }: Answer): string {
  return finishReason ?? (tools.length > 0 ? 'tool_calls' : 'stop')
}

function toolId (index: number): string {
  return `call_8fxy20OEu9ulvvaa5b5CzVA${index}`
}

function usageOf ({ usage }: Answer, legacy: boolean): object {
  const recorded: NonNullable<Answer['usage']> = { prompt: 8, completion: 377, reasoning: 320 }
  const { prompt, completion, cached = 0, reasoning = 0 } = usage ?? recorded
  const totals = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  if (legacy) return totals
  return {
    ...totals,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0
    }
  }
}

function identityOf (request: UpstreamRequest, answer: Answer) {
  const requested = String(request.body?.model ?? 'gpt-5-nano')
  const model = answer.model ?? (/\d{4}-\d\d-\d\d$/.test(requested) ? requested : `${requested}-2025-08-07`)
  const prefix = isLegacy(request) ? 'cmpl-' : 'chatcmpl-'
  const id = prefix + String(request.number).padStart(29, 'C4Gm9xikLXbgE8He0BHWeoM03aa72')
  return { id, created: 1755133833, model }
}

function isLegacy ({ path }: UpstreamRequest): boolean {
  return !path.includes('/chat/')
}

function choiceCount ({ body }: UpstreamRequest): number {
  const prompts = Array.isArray(body?.prompt) && typeof body.prompt[0] !== 'number' ? body.prompt.length : 1
  return prompts * (typeof body?.n === 'number' ? body.n : 1)
}

function streamOption ({ body }: UpstreamRequest, name: string): unknown {
  const options = body?.stream_options
  return typeof options === 'object' && options !== null ? Reflect.get(options, name) : undefined
}

/** The events of a stream, each with its blank line, the last one `[DONE]`. */
export function events (list: readonly unknown[]): string[] {
  return [...list.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n']
}
