import { EventStreamCodec } from '@smithy/core/event-streams'
import type { AwsOptions } from '../../schemas/config/providers.ts'
import { eventsFor, messageFor, type Reply } from './anthropic.ts'
import { complaintAboutSignature, type SigningKeys } from './sigv4.ts'
import { finish, head, send, sequence, startUpstream } from './upstream.ts'
import type { Cut, Script, Upstream, UpstreamRequest } from './upstream.ts'

// A local server that speaks Amazon Bedrock as @aws-sdk/client-bedrock-runtime 3.1164.0 types it: it verifies
// signatures, refuses what Bedrock refuses, and answers by script. Its frames are made by AWS's codec.

export interface BedrockServer extends Upstream {
  /** The keys that are accepted now. */
  keys: SigningKeys
  /** Names of the requests that were refused. */
  readonly refused: string[]
}

export const apiKey = 'bedrock-api-key-secret'
export const staticKeys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }

/** Options of a provider that says nothing of AWS. */
export const noAws: AwsOptions = {
  accessKeyId: null,
  secretAccessKey: null,
  sessionToken: null,
  profile: null,
  roleArn: null,
  externalId: null,
  guardrail: null,
  guardrailVersion: null,
  bucket: null,
  arns: null
}

export async function startBedrock (keys: SigningKeys = staticKeys): Promise<BedrockServer> {
  const server = { keys, refused: [] as string[] }
  const upstream = await startUpstream({ route })

  function route (request: UpstreamRequest, queued: () => Script | undefined): Script {
    const refused = request.headers.authorization === `Bearer ${apiKey}`
      ? null
      : complaintAboutSignature(request, server.keys)
    if (refused !== null) {
      server.refused.push(refused)
      return refusal(403, refused, `The Canonical String was ${String(request.headers['x-amz-security-token'])}`)
    }
    const { pathname } = new URL(request.path, 'http://bedrock')
    const listing = lists[pathname]
    if (listing !== undefined) return document(listing)
    const [, , id = '', operation = ''] = pathname.split('/')
    const media = mediaOf(request, queued)
    if (media !== null) return media
    const complaint = complaintAbout(operation, request.body ?? {})
    if (complaint !== null) return refusal(400, 'ValidationException', complaint)
    if (operation === 'count-tokens') return document({ inputTokens: 25 })
    return queued() ?? reply({ model: decodeURIComponent(id) })
  }

  return Object.assign(server, upstream, { get connections () { return upstream.connections } })
}

const lists: Readonly<Record<string, object>> = {
  '/foundation-models': {
    modelSummaries: [
      { modelId: 'amazon.nova-lite-v1:0', outputModalities: ['TEXT'], inferenceTypesSupported: ['ON_DEMAND'] },
      { modelId: 'anthropic.claude-sonnet-4-6', outputModalities: ['TEXT'], inferenceTypesSupported: ['INFERENCE_PROFILE'] },
      { modelId: 'amazon.nova-canvas-v1:0', outputModalities: ['IMAGE'], inferenceTypesSupported: ['ON_DEMAND'] },
      { modelId: 'amazon.titan-embed-text-v2:0', outputModalities: ['EMBEDDING'], inferenceTypesSupported: ['ON_DEMAND'] }
    ]
  },
  '/inference-profiles': {
    inferenceProfileSummaries: [
      { inferenceProfileId: 'eu.anthropic.claude-sonnet-4-6', status: 'ACTIVE', type: 'SYSTEM_DEFINED' }
    ]
  }
}

// ---- Images, videos and the bucket.

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const arn = 'arn:aws:bedrock:eu-central-1:123456789012:async-invoke/abc123'
const s3Uri = 's3://films/tollgate/abc123'

/** The script of a request for media; null for any other. */
function mediaOf ({ method, path, body }: UpstreamRequest, queued: () => Script | undefined): Script | null {
  const decoded = decodeURIComponent(path)
  if (method === 'POST' && path === '/async-invoke') return queued() ?? document({ invocationArn: arn })
  if (decoded === `/async-invoke/${arn}`) {
    return queued() ?? document({ invocationArn: arn, status: 'Completed', outputDataConfig: { s3OutputDataConfig: { s3Uri } } })
  }
  if (path === '/films/tollgate/abc123/output.mp4') {
    return sequence(head({ 'content-type': 'video/mp4' }), send([Buffer.from('film')]), finish)
  }
  if (!decoded.endsWith('/invoke') || body?.messages !== undefined) return null
  const { numberOfImages = 1 }: { numberOfImages?: number } = Object(body?.imageGenerationConfig)
  return queued() ?? document({ images: Array.from({ length: numberOfImages }, () => pixel) })
}

// ---- What is refused.

const converseMembers = new Set([
  'messages', 'system', 'inferenceConfig', 'toolConfig', 'guardrailConfig', 'additionalModelRequestFields', 'outputConfig'
])
const blockMembers = new Set(['text', 'image', 'document', 'toolUse', 'toolResult', 'reasoningContent', 'cachePoint'])
const invokeForbidden = ['model', 'stream', 'service_tier']

function complaintAbout (operation: string, body: Readonly<Record<string, unknown>>): string | null {
  if (operation.startsWith('converse')) return complaintAboutConverse(body)
  const inner = operation === 'count-tokens' ? decodedBody(body) : body
  const extra = invokeForbidden.find(name => name in inner)
  if (extra !== undefined) return `${extra}: Extra inputs are not permitted`
  if (inner.anthropic_version !== 'bedrock-2023-05-31') return 'anthropic_version: Field required'
  if (typeof inner.max_tokens !== 'number') return 'max_tokens: Field required'
  return null
}

interface CountBody { input?: { invokeModel?: { body?: string } } }
interface ConverseBody { messages?: { role: string, content: ConverseBlock[] }[], toolConfig?: object }
interface ConverseBlock { text?: string, toolUse?: { toolUseId: string } }

function decodedBody ({ input }: CountBody): Record<string, unknown> {
  return JSON.parse(Buffer.from(input?.invokeModel?.body ?? 'e30=', 'base64').toString())
}

function complaintAboutConverse (body: ConverseBody): string | null {
  const { messages = [] } = body
  const extra = Object.keys(body).find(name => !converseMembers.has(name))
  if (extra !== undefined) return `Extraneous key [${extra}] is not permitted`
  if (messages[0]?.role !== 'user') return 'A conversation must start with a user message.'
  const blocks = messages.flatMap(({ content }) => content)
  for (const block of blocks) {
    const [name = '', ...others] = Object.keys(block)
    if (others.length > 0 || !blockMembers.has(name)) return `A content block has the member ${name}`
    if (block.text?.trim() === '') return 'The text field in the ContentBlock object is blank.'
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(block.toolUse?.toolUseId ?? 'id')) return 'toolUseId is invalid'
  }
  if (blocks.some(block => 'toolUse' in block) && body.toolConfig === undefined) return 'The toolConfig field must be defined when using toolUse.'
  return null
}

// ---- Answers.

export interface BedrockReply extends Reply { converseStop?: string, cut?: Cut, failing?: Frame }

interface Frame { ':message-type'?: string, ':exception-type'?: string, ':event-type'?: string, body: object }

/** Answers as the called operation does. */
export function reply (said: BedrockReply = {}): Script {
  return exchange => {
    const { request } = exchange
    const operation = request.path.split('?')[0]?.split('/').at(-1) ?? ''
    const model = said.model ?? decodeURIComponent(request.path.split('/')[2] ?? '')
    const message = messageFor(request, { ...said, model })
    if (operation === 'invoke') return document(message)(exchange)
    if (operation === 'converse') return document(converseBody(message, said))(exchange)
    const frames = operation === 'converse-stream'
      ? converseFrames(message, said)
      : eventsFor(request, { ...said, model }).filter(({ type }) => type !== 'ping').map(chunkFrame)
    const { cut = pieces => pieces, failing } = said
    const all = failing === undefined ? frames : [...frames.slice(0, 3), failing]
    return sequence(
      head({ 'content-type': 'application/vnd.amazon.eventstream', 'x-amzn-requestid': 'req-1' }),
      send(cut(all.map(encodeFrame))), finish
    )(exchange)
  }
}

type Message = ReturnType<typeof messageFor>

function converseBody (message: Message, { converseStop }: BedrockReply): object {
  return {
    output: { message: { role: 'assistant', content: message.content.map(converseBlock) } },
    stopReason: converseStop ?? message.stop_reason,
    usage: converseUsage(message),
    metrics: { latencyMs: 7 }
  }
}

function converseUsage ({ usage }: Message): object {
  const { input_tokens: inputTokens, output_tokens: outputTokens } = usage
  const cacheReadInputTokens = usage.cache_read_input_tokens ?? 0
  const cacheWriteInputTokens = usage.cache_creation_input_tokens ?? 0
  const totalTokens = inputTokens + outputTokens
  return { inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens }
}

function converseBlock (block: Message['content'][number]): object {
  if (block.type === 'tool_use') return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } }
  if (block.type === 'thinking') {
    return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } }
  }
  if (block.type === 'redacted_thinking') return { reasoningContent: { redactedContent: block.data } }
  return { text: block.type === 'text' ? block.text : '' }
}

function converseFrames (message: Message, { converseStop }: BedrockReply): Frame[] {
  const event = (name: string, body: object): Frame => ({ ':event-type': name, body })
  const blocks = message.content.flatMap((block, contentBlockIndex) => {
    const stop = event('contentBlockStop', { contentBlockIndex })
    const delta = (delta: object) => event('contentBlockDelta', { contentBlockIndex, delta })
    if (block.type === 'tool_use') {
      const pieces = JSON.stringify(block.input).match(/.{1,7}/gs) ?? []
      const start = { toolUse: { toolUseId: block.id, name: block.name } }
      const deltas = pieces.map(input => delta({ toolUse: { input } }))
      return [event('contentBlockStart', { contentBlockIndex, start }), ...deltas, stop]
    }
    if (block.type === 'thinking') {
      const { thinking: text, signature } = block
      return [delta({ reasoningContent: { text } }), delta({ reasoningContent: { signature } }), stop]
    }
    if (block.type === 'redacted_thinking') return [delta({ reasoningContent: { redactedContent: block.data } }), stop]
    const words = block.type === 'text' ? block.text.match(/\s*\S+|\s+$/g) ?? [] : []
    return [...words.map(text => delta({ text })), stop]
  })
  return [
    event('messageStart', { role: 'assistant' }), ...blocks,
    event('messageStop', { stopReason: converseStop ?? message.stop_reason }),
    event('metadata', { usage: converseUsage(message), metrics: { latencyMs: 7 } })
  ]
}

function chunkFrame (event: object): Frame {
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64')
  return { ':event-type': 'chunk', body: { bytes, p: 'abcdef' } }
}

/** An exception within a stream. */
export const exception = (type: string, message: string): Frame =>
  ({ ':message-type': 'exception', ':exception-type': type, body: { message } })

const textOf = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString()
const codec = new EventStreamCodec(textOf, text => Buffer.from(text))

export function encodeFrame ({ body, ...named }: Frame): Buffer {
  const texts = { ':message-type': 'event', ':content-type': 'application/json', ...named }
  const typed = Object.entries(texts).map(([name, value]) => [name, { type: 'string' as const, value }])
  const headers = Object.fromEntries(typed)
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(body)) }))
}

export function document (body: object, status = 200, headers: Record<string, string> = {}): Script {
  const all = { 'content-type': 'application/json', 'x-amzn-requestid': 'req-1', ...headers }
  return sequence(head(all, status), send([Buffer.from(JSON.stringify(body))]), finish)
}

/** Refuses as AWS does: the type of the error is in a header. */
export function refusal (
  status: number, type: string, message: string, headers: Record<string, string> = {}
): Script {
  return document({ message }, status, { 'x-amzn-errortype': `${type}:http://internal.amazon.com/`, ...headers })
}
