import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { JsonObject } from '../../shared/json.ts'
import { effectiveLimit } from '../../shared/request-fields.ts'
import { anthropicTraitsOf, type AnthropicTraits } from '../anthropic/model-traits.ts'
import { toMessagesRequest } from '../anthropic/request.ts'
import type {
  AnthropicCacheControl, AnthropicTool, Block, DocumentBlock, ImageBlock, MessagesRequest, ToolResultBlock
} from '../anthropic/wire.ts'
import type { ChatCall, UnmetParameters } from '../provider.ts'
import { unmetBy } from '../unmet.ts'
import { converseTraitsOf, isClaude, type ConverseTraits } from './model-names.ts'

type Translated = Pick<ChatCall, 'body' | 'outputLimit' | 'maxOutput'> & {
  /** The foundation model. */
  name: string
}

/** The body of Converse, and the parameters that are dropped. */
interface Translation { body: JsonObject, dropped: string[] }

/**
 * Translates a chat request for Converse by way of the Messages API, whose blocks it has under other names.
 * Images must be inline. Throws UpstreamError (400, not sent) for what has no equivalent. Source:
 * @aws-sdk/client-bedrock-runtime 3.1164.0.
 */
export function toConverseRequest (call: Translated): Translation {
  const { body: request, name } = call
  const traits = converseTraitsOf(name)
  const messages = toMessagesRequest({ ...call, model: name }, anthropicTraits(name, traits))
  const dropped = new Set(messages.dropped)
  const { body } = messages
  const isKnownLimit = isClaude(name) || effectiveLimit(call) !== null || call.maxOutput != null
  const inferenceConfig = {
    maxTokens: isKnownLimit ? body.max_tokens : undefined,
    stopSequences: body.stop_sequences,
    ...(isClaude(name) ? { temperature: body.temperature, topP: body.top_p } : samplingOf(request, dropped))
  }
  return {
    body: {
      messages: body.messages.map(({ role, content }) => {
        return { role, content: toBlocks(content, traits, dropped) }
      }),
      ...nonEmpty('system', toBlocks(body.system ?? [], traits, dropped)),
      ...nonEmptyObject('inferenceConfig', inferenceConfig),
      ...toToolConfig(body, traits, dropped),
      ...nonEmptyObject('additionalModelRequestFields', {
        ...topKOf(body, traits, dropped),
        thinking: body.thinking,
        ...nonEmptyObject('output_config', { effort: body.output_config?.effort }),
        ...effortOf(request, traits, dropped)
      }),
      ...toOutputConfig(body)
    },
    dropped: [...dropped]
  }
}

/** The parameters of a request that are dropped, and those for which it is refused. */
export function unmetByConverse (request: ChatCompletionRequest, name: string): UnmetParameters {
  return unmetBy(() => toConverseRequest({ body: request, name, outputLimit: null }).dropped)
}

/** How the translation to Anthropic's form treats another model. */
function anthropicTraits (name: string, { structured }: ConverseTraits): AnthropicTraits {
  const known = anthropicTraitsOf(name)
  return isClaude(name) ? known : { ...known, thinking: 'none', structured, forcedTools: true }
}

/** The sampling of models that take both parameters, and a temperature of at most 1. */
function samplingOf (
  { temperature, top_p: topP }: ChatCompletionRequest, dropped: Set<string>
): { temperature?: number, topP?: number } {
  dropped.delete('top_p')
  return {
    ...(typeof temperature === 'number' ? { temperature: Math.min(1, temperature) } : {}),
    ...(typeof topP === 'number' ? { topP } : {})
  }
}

function effortOf (
  { reasoning_effort: effort }: ChatCompletionRequest, traits: ConverseTraits, dropped: Set<string>
): object {
  if (traits.effort === null || effort == null || effort === 'none') return {}
  dropped.delete('reasoning_effort')
  return traits.effort(effort)
}

function topKOf ({ top_k: tokens }: MessagesRequest, { topK }: ConverseTraits, dropped: Set<string>): object {
  if (tokens === undefined) return {}
  if (topK === null) dropped.add('top_k')
  return topK?.(tokens) ?? {}
}

function toBlocks (blocks: readonly Block[], traits: ConverseTraits, dropped: Set<string>): object[] {
  return blocks.flatMap((block, at) => {
    const control = 'cache_control' in block ? block.cache_control : undefined
    return [toBlock(block, at), ...cachePoint(control, traits, dropped)]
  })
}

function cachePoint (
  control: AnthropicCacheControl | undefined, { cachePoints }: ConverseTraits, dropped: Set<string>
): object[] {
  if (control === undefined) return []
  if (!cachePoints) {
    dropped.add('cache_control')
    return []
  }
  return [{ cachePoint: { type: 'default', ...(control.ttl === undefined ? {} : { ttl: control.ttl }) } }]
}

function toBlock (block: Block, at: number): object {
  switch (block.type) {
    case 'text': return { text: block.text }
    case 'image': return { image: toImage(block) }
    case 'document': return { document: toDocument(block, at) }
    case 'tool_use': return { toolUse: { toolUseId: callId(block.id), name: block.name, input: block.input } }
    case 'tool_result': return { toolResult: toToolResult(block) }
    case 'thinking': {
      const { thinking: text, signature } = block
      return { reasoningContent: { reasoningText: { text, signature } } }
    }
    case 'redacted_thinking': return { reasoningContent: { redactedContent: block.data } }
  }
}

/** Longer ids are refused; both ends of a call are cut alike. */
const callId = (id: string): string => id.slice(0, 64)

function toToolResult ({ tool_use_id: id, content = [] }: ToolResultBlock): object {
  return { toolUseId: callId(id), content: content.map(({ text }) => ({ text })) }
}

function toImage ({ source }: ImageBlock): object {
  if (source.type === 'url') throw new TypeError('An image was not fetched.')
  return { format: source.media_type.replace('image/', ''), source: { bytes: source.data } }
}

/** Names of documents must differ within a message, and have few signs. */
function toDocument ({ source, title = 'document' }: DocumentBlock, at: number): object {
  if (source.type === 'url') throw new TypeError('A document was not fetched.')
  const words = title.replace(/\.[a-z]{2,4}$/i, '').replace(/[^A-Za-z0-9()[\]-]+/g, ' ').trim()
  const name = `${words.slice(0, 180)} ${at + 1}`.trim()
  if (source.type === 'base64') return { format: 'pdf', name, source: { bytes: source.data } }
  return { format: 'txt', name, source: { bytes: Buffer.from(source.data).toString('base64') } }
}

/** Converse cannot forbid tools, so they are left out where no past call needs them. */
function toToolConfig (
  { tools = [], tool_choice: choice, messages }: MessagesRequest, traits: ConverseTraits, dropped: Set<string>
): JsonObject {
  const isForbidden = choice?.type === 'none'
  const hasCalls = messages.some(({ content }) => content.some(({ type }) => type === 'tool_use'))
  if (tools.length === 0 || (isForbidden && !hasCalls)) return {}
  if (choice !== undefined && 'disable_parallel_tool_use' in choice) dropped.add('parallel_tool_calls')
  const toolChoice = choice?.type === 'any' ? { any: {} } : choice?.type === 'tool' ? { tool: { name: choice.name } } : null
  const specs = tools.flatMap(tool => [toTool(tool), ...cachePoint(tool.cache_control, traits, dropped)])
  return { toolConfig: { tools: specs, ...(toolChoice === null ? {} : { toolChoice }) } }
}

function toTool ({ name, description, input_schema: json, strict }: AnthropicTool): object {
  return {
    toolSpec: {
      name,
      ...(description === undefined || description === '' ? {} : { description }),
      inputSchema: { json },
      ...(strict === undefined ? {} : { strict })
    }
  }
}

function toOutputConfig ({ output_config: config }: MessagesRequest): JsonObject {
  if (config?.format === undefined) return {}
  const jsonSchema = { name: 'response', schema: JSON.stringify(config.format.schema) }
  return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } }
}

function nonEmpty (key: string, items: object[]): JsonObject {
  return items.length === 0 ? {} : { [key]: items }
}

function nonEmptyObject (key: string, members: object): JsonObject {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  return given.length === 0 ? {} : { [key]: Object.fromEntries(given) }
}
