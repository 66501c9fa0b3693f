import { setTimeout as pause } from 'node:timers/promises'
import { picture } from '../servers/image-server.ts'
import { finish, hangUp, head, reset, send, sequence, stall, startUpstream } from '../servers/upstream.ts'
import type { Script, Upstream, UpstreamRequest } from '../servers/upstream.ts'

/** JSON text of one value in a usage object; null: the member is missing. */
export type RawValue = string | null

/** What one call gets. */
export interface Plan {
  ending: 'whole' | 'cut' | 'stalled' | 'reset' | 'refused' | 'garbage'
  /** Of a refusal. */
  status: number
  texts: string[]
  /** The whole usage as JSON text, or its members. */
  usage: { text: RawValue } | {
    prompt: RawValue
    completion: RawValue
    /** Cached tokens, total tokens or the cost in USD, as the protocol has it. */
    other: RawValue
    /** Members that change no price: thoughts, cached tokens and the like; JSON text. */
    details: RawValue
  }
  /** Whether an object has its members twice, first with the value 1. */
  isRepeated: boolean
  /** Whether every chunk of a stream has the usage. */
  isInEveryChunk: boolean
  /** An event before the last text, as JSON text; null: there is none. */
  junk: RawValue
  /** The service tier that the answer names; null: none. */
  tier: string | null
  /** How many images an answer has. */
  images: number
  delayMs: number
  /** Between the events of a stream; 0: they come in one piece. */
  gapMs: number
}

const png = (await picture(8, 8)).toString('base64')

/** A server of five protocols that answers each call by the plan whose name its prompt has. */
export async function startHostileProvider (planOf: (name: string) => Plan): Promise<Upstream> {
  return await startUpstream({
    route (request) {
      const [name = ''] = /plan-\d+/.exec(request.bytes.toString()) ?? []
      return play(request, planOf(name))
    }
  })
}

function play (request: UpstreamRequest, plan: Plan): Script {
  const { ending, status, delayMs } = plan
  const wait: Script = async () => { await pause(delayMs) }
  const isStream = request.body?.['stream'] === true || request.path.includes('streamGenerateContent')
  const type = isStream ? 'text/event-stream' : 'application/json'
  if (ending === 'refused') {
    const refusal = Buffer.from('{"error":{"message":"no"}}')
    return sequence(wait, head({ 'content-type': 'application/json' }, status), send([refusal]), finish)
  }
  if (ending === 'garbage') {
    const garbage = Buffer.from('data: {"choices":[{')
    return sequence(wait, head({ 'content-type': type }), send([garbage]), finish)
  }
  const texts = isStream ? answerEvents(request, plan) : [wholeAnswer(request, plan)]
  const pieces = texts.map(text => Buffer.from(text))
  const some = pieces.slice(0, Math.ceil(pieces.length / 2))
  const last = { whole: finish, cut: hangUp, stalled: stall, reset }[ending]
  const sent = ending === 'whole' ? pieces : isStream ? some : []
  const gap: Script = async () => { await pause(plan.gapMs) }
  const body = plan.gapMs === 0 ? [send(sent)] : sent.flatMap(piece => [send([piece]), gap])
  return sequence(wait, head({ 'content-type': type }), ...body, last)
}

type Asked = Pick<UpstreamRequest, 'path' | 'body'>

/** `router` is OpenAI's with the cost in the usage. */
export type Protocol = 'chat' | 'router' | 'responses' | 'legacy' | 'image' | 'anthropic' | 'gemini'

function protocolOf ({ path, body }: Asked): Protocol {
  if (path.includes('/messages')) return 'anthropic'
  if (path.includes('generateContent') || path.includes('GenerateContent')) return 'gemini'
  if (path.includes('/images/')) return 'image'
  if (path.includes('/responses')) return 'responses'
  if (!path.includes('/chat/')) return 'legacy'
  return body?.['model'] === 'up-router' ? 'router' : 'chat'
}

interface UsageNames { prompt: string, completion: string, other: string, details: string }

const openai = { prompt: 'prompt_tokens', completion: 'completion_tokens', details: 'prompt_tokens_details' }
const names: Record<Protocol, UsageNames> = {
  chat: { ...openai, other: 'total_tokens' },
  router: { ...openai, other: 'cost' },
  legacy: { ...openai, other: 'total_tokens', details: 'completion_tokens_details' },
  responses: {
    prompt: 'input_tokens', completion: 'output_tokens', other: 'total_tokens', details: 'input_tokens_details'
  },
  image: { prompt: 'input_tokens', completion: 'output_tokens', other: 'cost', details: 'input_tokens_details' },
  anthropic: {
    prompt: 'input_tokens', completion: 'output_tokens', other: 'cache_read_input_tokens', details: 'server_tool_use'
  },
  gemini: {
    prompt: 'promptTokenCount',
    completion: 'candidatesTokenCount',
    other: 'cachedContentTokenCount',
    details: 'promptTokensDetails'
  }
}

/** The usage as a protocol has it, in JSON; null: there is none. */
export function usageText ({ usage, isRepeated }: Plan, protocol: Protocol): string | null {
  if ('text' in usage) return usage.text
  const own = names[protocol]
  const all = [
    [own.prompt, usage.prompt], [own.completion, usage.completion], [own.other, usage.other],
    [own.details, usage.details]
  ]
  const members = all.flatMap(([name, value]) => value === null ? [] : [`"${name}":${value}`])
  const first = isRepeated ? [`"${own.prompt}":1`, `"${own.completion}":1`] : []
  return `{${[...first, ...members].join()}}`
}

/** The whole answer of a plan. */
export function wholeAnswer (request: Asked, plan: Plan): string {
  const protocol = protocolOf(request)
  const usage = usageText(plan, protocol)
  const text = JSON.stringify(plan.texts.join(''))
  const withUsage = (name: string) => usage === null ? '' : `,"${name}":${usage}`
  const head = `"id":"x","created":1,"model":"m"${tierIn(plan)}`
  switch (protocol) {
    case 'anthropic':
      return `{"id":"x","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":${text}}],` +
        `"stop_reason":"end_turn"${withUsage('usage')}}`
    case 'gemini':
      return `{"candidates":[{"content":{"parts":[{"text":${text}}]},"finishReason":"STOP","index":0}]${withUsage('usageMetadata')}}`
    case 'responses':
      return responseOf(text, plan, 'completed', withUsage('usage'))
    case 'image':
      return `{"created":1,"data":[${Array(plan.images).fill(`{"b64_json":"${png}"}`).join()}]${withUsage('usage')}}`
    case 'legacy':
      return `{${head},"object":"text_completion","choices":[{"text":${text},"index":0,"finish_reason":"stop"}]${withUsage('usage')}}`
    default:
      return `{${head},"object":"chat.completion","choices":[{"index":0,` +
        `"message":{"role":"assistant","content":${text}},"finish_reason":"stop"}]${withUsage('usage')}}`
  }
}

function tierIn ({ tier }: Plan): string {
  return tier === null ? '' : `,"service_tier":${JSON.stringify(tier)}`
}

/** The events of a streamed answer of a plan. */
export function answerEvents (request: Asked, plan: Plan): string[] {
  const events = usualEvents(request, plan)
  if (plan.junk === null) return events
  return events.toSpliced(Math.max(1, plan.texts.length - 1), 0, `data: ${plan.junk}\n\n`)
}

function usualEvents (request: Asked, plan: Plan): string[] {
  const protocol = protocolOf(request)
  const usage = usageText(plan, protocol)
  const member = (name: string) => usage === null ? '' : `,"${name}":${usage}`
  const texts = plan.texts.map(text => JSON.stringify(text))
  if (protocol === 'anthropic') return anthropicEvents(texts, plan.isInEveryChunk ? member('usage') : '', member('usage'))
  if (protocol === 'gemini') {
    const chunk = (text: string, more: string) => `{"candidates":[{"content":{"parts":[{"text":${text}}]},"index":0${more}`
    return [
      ...texts.map(text => `data: ${chunk(text, '}]')}${plan.isInEveryChunk ? member('usageMetadata') : ''}}\n\n`),
      `data: ${chunk('""', ',"finishReason":"STOP"}]')}${member('usageMetadata')}}\n\n`
    ]
  }
  if (protocol === 'responses') return responseEvents(texts, plan, member('usage'))
  const every = plan.isInEveryChunk ? member('usage') : ''
  const choice = (text: string, reason: string) => protocol === 'legacy'
    ? `{"index":0,"text":${text},"finish_reason":${reason}}`
    : `{"index":0,"delta":{"content":${text}},"finish_reason":${reason}}`
  const chunk = (choices: string, more: string) =>
    `data: {"id":"x","created":1,"model":"m"${tierIn(plan)},"choices":[${choices}]${more}}\n\n`
  return [
    ...texts.map(text => chunk(choice(text, 'null'), every)),
    chunk(choice('""', '"stop"'), every),
    chunk('', member('usage')),
    'data: [DONE]\n\n'
  ]
}

function responseOf (text: string, plan: Plan, status: string, usage: string): string {
  const message = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":${text}}]}`
  return `{"id":"x","object":"response","model":"m","status":"${status}"${tierIn(plan)},"output":[${message}]${usage}}`
}

function responseEvents (texts: string[], plan: Plan, usage: string): string[] {
  const event = (name: string, more: string) => `event: ${name}\ndata: {"type":"${name}"${more}}\n\n`
  const whole = JSON.stringify(plan.texts.join(''))
  return [
    event('response.created', `,"response":${responseOf('""', plan, 'in_progress', '')}`),
    ...texts.map(text => event('response.output_text.delta', `,"delta":${text}`)),
    event('response.completed', `,"response":${responseOf(whole, plan, 'completed', usage)}`)
  ]
}

function anthropicEvents (texts: string[], first: string, last: string): string[] {
  const event = (name: string, more: string) => `event: ${name}\ndata: {"type":"${name}"${more}}\n\n`
  return [
    event('message_start', `,"message":{"id":"x","type":"message","role":"assistant","model":"m","content":[]${first}}`),
    event('content_block_start', ',"index":0,"content_block":{"type":"text","text":""}'),
    ...texts.map(text => event('content_block_delta', `,"index":0,"delta":{"type":"text_delta","text":${text}}`)),
    event('content_block_stop', ',"index":0'),
    event('message_delta', `,"delta":{"stop_reason":"end_turn"}${last}`),
    event('message_stop', '')
  ]
}
