import type { CreateMessageRequest } from '../../../schemas/anthropic/messages.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isObject } from '../../shared/json.ts'
import { isPriced, ownTools, type OwnTool } from './offered-tools.ts'
import { refusedHere } from './refuse.ts'

type Needed = 'messages' | 'tools' | 'tool_choice' | 'thinking' | 'context_management' | 'speed' | 'mcp_servers' | 'thread'
type Absent = 'stop_sequences' | 'container' | 'inference_geo'
/** What a request to count tokens has too, and what it lacks. */
type Prompt = Pick<CreateMessageRequest, Needed> & Partial<Pick<CreateMessageRequest, Absent>>

/** A feature that only a provider with this API has. */
export interface NativeNeed { param: string, what: string }

/** Throws GatewayError 400 for what has a cost that is not counted, and for files and servers of others. */
export function refuseUnpriced (request: Prompt): void {
  const { container, inference_geo: geo, mcp_servers: servers, speed } = request
  if (request.thread != null) throw unthreaded()
  if (container != null) throw refusedHere('container', 'containers have no price on this gateway')
  if (geo != null && geo !== 'global') throw refusedHere('inference_geo', 'regions have no price on this gateway')
  if (servers != null && servers.length > 0) {
    throw refusedHere('mcp_servers', 'what servers add to a prompt has no price on this gateway')
  }
  if (speed === 'fast') throw refusedHere('speed', '`fast` has no price on this gateway')
  const unpriced = ownTools(request).demanded.find(tool => !isPriced(tool))
  if (unpriced !== undefined) throw noPrice(unpriced)
  request.context_management?.edits?.forEach(({ type }, at) => {
    if (type === 'clear_thinking_20251015' || type === 'clear_tool_uses_20250919') return
    throw refusedHere(`context_management.edits[${at}]`, `\`${type.slice(0, 64)}\` has no price on this gateway`)
  })
  request.messages.forEach(({ content }, at) => refuseFiles(content, `messages[${at}].content`))
}

/** 400 for a tool whose cost is not counted. */
export function noPrice ({ param, type }: OwnTool): GatewayError {
  return refusedHere(param, `\`${type.slice(0, 64)}\` has no price on this gateway`)
}

/** The SDK reads this code, and goes on with the whole conversation in each request. */
function unthreaded (): GatewayError {
  return GatewayError.invalidRequest(
    'The field \'thread\' is not supported: conversations are not stored here. Send all messages without it.',
    { param: 'thread', code: 'thread_unsupported_request' })
}

/** Files belong to the gateway's own account at the provider, whose files clients must not read. */
function refuseFiles (content: unknown, param: string): void {
  if (!Array.isArray(content)) return
  content.forEach((block: unknown, at) => {
    if (!isObject(block)) return
    const place = `${param}[${at}]`
    const { type, source } = block
    if (type === 'container_upload' || (isObject(source) && source.type === 'file')) {
      throw refusedHere(place, 'files are not kept here; send their content')
    }
    refuseFiles(block.content, `${place}.content`)
  })
}

/** The first feature of a request that a translation cannot express; null if there is none. */
export function nativeNeedOf (request: Prompt): NativeNeed | null {
  const { tools = [], stop_sequences: stops, thinking, context_management: context } = request
  const [demanded] = ownTools(request).demanded
  if (demanded !== undefined) return needOf(demanded)
  for (const [at, tool] of tools.entries()) {
    const callers = tool.allowed_callers?.filter(caller => caller !== 'direct') ?? []
    if (callers.length > 0) return { param: `tools[${at}].allowed_callers`, what: `\`${callers[0]}\`` }
  }
  if (stops != null && stops.length > maxStops) {
    return { param: 'stop_sequences', what: `more than ${maxStops} of them` }
  }
  if (thinking?.type === 'between_tools') return { param: 'thinking.type', what: '`between_tools`' }
  const edit = context?.edits?.findIndex(({ type }) => type === 'clear_tool_uses_20250919') ?? -1
  if (edit >= 0) return { param: `context_management.edits[${edit}]`, what: '`clear_tool_uses_20250919`' }
  for (const [at, { content }] of request.messages.entries()) {
    const need = needIn(content, `messages[${at}].content`)
    if (need !== null) return need
  }
  return null
}

/** What a tool of Anthropic's needs. */
export function needOf ({ param, type }: OwnTool): NativeNeed {
  return { param, what: `\`${type.slice(0, 64)}\`` }
}

/** The API of chat takes that many. */
const maxStops = 4

const translated: ReadonlySet<unknown> = new Set([
  'text', 'image', 'document', 'search_result', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking',
  'tool_reference', 'tool_addition', 'tool_removal'
])

function needIn (content: unknown, param: string): NativeNeed | null {
  if (!Array.isArray(content)) return null
  for (const [at, block] of content.entries()) {
    if (!isObject(block)) continue
    const { type, citations, tool } = block
    const place = `${param}[${at}]`
    if (!translated.has(type)) return { param: place, what: `\`${type}\`` }
    if (isObject(citations) && citations.enabled === true) return { param: `${place}.citations`, what: 'citations' }
    if (isObject(tool) && tool.type !== 'tool_reference' && tool.type !== 'tool_definition') {
      return { param: `${place}.tool`, what: `\`${tool.type}\`` }
    }
    const inner = type === 'tool_result' ? needIn(block.content, `${place}.content`) : null
    if (inner !== null) return inner
  }
  return null
}
