/** What a person has filled in. */
export interface ChatForm {
  prompt: string
  system: string
  tools: string
  schema: string
  image: string | null
  isStreamed: boolean
}

export interface Turn {
  role: 'user' | 'assistant' | 'system'
  content: unknown
}

type Body = Readonly<Record<string, unknown>>

/** The body of the chat completion; throws an Error with a sentence for what is no JSON. */
export function chatRequest (model: string, turns: readonly Turn[], form: ChatForm): Body {
  const { prompt, system, image, isStreamed } = form
  const content = image === null
    ? prompt
    : [{ type: 'text', text: prompt }, { type: 'image_url', image_url: { url: image } }]
  const tools = readJson('Tools', form.tools)
  const schema = readJson('JSON schema', form.schema)
  return {
    model,
    messages: [...system === '' ? [] : [{ role: 'system', content: system }], ...turns, { role: 'user', content }],
    ...tools !== undefined && { tools },
    ...schema !== undefined && { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } },
    ...isStreamed && { stream: true, stream_options: { include_usage: true } }
  }
}

function readJson (label: string, text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${label}: ${error instanceof Error ? error.message : 'this is not JSON.'}`)
  }
}

export interface Answer {
  text: string
  /** Calls of tools: name and arguments as JSON. */
  calls: readonly { name: string, arguments: string }[]
  reason: string | null
  cost: number | null
}

export const noAnswer: Answer = { text: '', calls: [], reason: null, cost: null }

interface Piece {
  content?: string | null
  refusal?: string | null
  tool_calls?: { index?: number, function?: { name?: string, arguments?: string } }[]
}

/** A completion, or one chunk of its stream. */
export interface Chunk {
  choices?: { delta?: Piece, message?: Piece, finish_reason?: string | null }[]
  usage?: { cost?: number } | null
  error?: { message: string }
}

/** The answer with what a chunk or a whole completion adds to it. Throws an Error for one that says so. */
export function extended (answer: Answer, { choices = [], usage, error }: Chunk): Answer {
  if (error !== undefined) throw new Error(error.message)
  const [{ delta, message, finish_reason: reason } = {}] = choices
  const piece = delta ?? message ?? {}
  const calls = answer.calls.map(call => ({ ...call }))
  piece.tool_calls?.forEach(({ index, function: part = {} }, position) => {
    const call = calls[index ?? position] ??= { name: '', arguments: '' }
    call.name += part.name ?? ''
    call.arguments += part.arguments ?? ''
  })
  return {
    text: answer.text + (piece.content ?? piece.refusal ?? ''),
    calls,
    reason: reason ?? answer.reason,
    cost: usage?.cost ?? answer.cost
  }
}
