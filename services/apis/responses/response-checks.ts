import { ResponseRequest } from '../../../schemas/openai/responses.ts'
import { nativeItemTypes, type ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import { builtInTools, type ResponseTool } from '../../../schemas/openai/response-tools.ts'
import { GatewayError } from '../../shared/errors.ts'
import { ownMember } from '../../shared/json.ts'
import type { NamedItem } from './to-messages.ts'
import { foundTools, isClientSearch, isClientSearchItem, type FoundTool } from './tool-search.ts'

const known: ReadonlySet<string> = new Set(Object.keys(ResponseRequest.properties))

/** Fields of OpenAI's API that the gateway does not serve, and what to do instead. */
const notServed: Readonly<Record<string, string>> = {
  access_programs: 'Access programs are not served by this gateway.',
  context_management: 'The gateway does not compact contexts; send fewer items.',
  conversation: 'Conversations are not served by this gateway; use `previous_response_id`, or send all items.',
  image: 'Image contexts are not served by this gateway.',
  moderation: 'Moderation of responses is not served by this gateway.',
  prompt: 'Stored prompts are not served by this gateway; send `instructions` and `input`.'
}

/** Checks what the schema cannot say about a request. Throws GatewayError (400) that names the field. */
export function checkResponseRequest (request: ResponseRequest): void {
  for (const [name, value] of Object.entries(request)) {
    if (known.has(name)) continue
    const why = ownMember(notServed, name)
    if (why === undefined) {
      throw GatewayError.invalidRequest(`Unknown parameter: '${name.slice(0, 200)}'.`,
        { param: name.slice(0, 200), code: 'unknown_parameter' })
    }
    if (value !== null) throw GatewayError.unsupportedParameter(name, why)
  }
  if (request.background === true) {
    throw GatewayError.unsupportedParameter('background', 'The gateway does not run responses in the background; use `stream`.')
  }
  const mode = request.reasoning?.mode
  if (mode != null && mode !== 'standard') {
    throw GatewayError.unsupportedParameter('reasoning.mode', `The reasoning mode '${mode.slice(0, 64)}' has no price on this gateway.`)
  }
  if (request.previous_response_id != null && request.previous_response_id === '') {
    throw GatewayError.invalidValue('previous_response_id', 'must not be empty')
  }
}

/** What only a provider that has the Responses API itself can do for a request. */
export interface NativeFeature { param: string, what: string }

const native: ReadonlySet<string> = new Set(builtInTools)
const nativeItems: ReadonlySet<string> = new Set(nativeItemTypes)

/** The first thing in a request that only a provider with the Responses API can do; null: chat can do all. */
export function nativeFeatureOf (
  request: ResponseRequest, items: readonly NamedItem[]
): NativeFeature | null {
  const { tool_choice: choice, truncation, stream_options: options } = request
  const tool = nativeToolOf(request, [])
  if (tool !== null && demandsNativeTool(request, items)) return tool
  if (typeof choice === 'object' && choice !== null && native.has(choice.type)) {
    return { param: 'tool_choice.type', what: `the built-in tool '${choice.type}'` }
  }
  if (truncation === 'auto') return { param: 'truncation', what: 'truncation of the input' }
  if (options?.include_obfuscation === true) {
    return { param: 'stream_options.include_obfuscation', what: 'obfuscation of streams' }
  }
  const item = items.find(({ item }) => isNativeItem(item))
  return item === undefined ? null : { param: `${item.param}.type`, what: `items of type '${item.item.type}'` }
}

/**
 * Whether a request needs a tool that only such a provider has: its choice names one or leaves no other, or
 * the conversation has used one. A tool that is only offered need not be used.
 */
export function demandsNativeTool (
  { tools, tool_choice: choice }: ResponseRequest, items: readonly NamedItem[]
): boolean {
  if (items.some(({ item }) => isNativeItem(item))) return true
  if (choice === 'required') return toolsOf({ tools }, items).every(({ tool }) => isNativeTool(tool))
  if (typeof choice !== 'object' || choice === null) return false
  if (choice.type === 'allowed_tools') return choice.tools.some(({ type }) => native.has(type))
  return native.has(choice.type)
}

/** The first tool in a request that only such a provider has; null: it has none. */
export function nativeToolOf (
  request: ResponseRequest, items: readonly NamedItem[]
): NativeFeature | null {
  const found = toolsOf(request, items).find(({ tool }) => isNativeTool(tool))
  return found === undefined ? null : { param: `${found.param}.type`, what: `the built-in tool '${found.tool.type}'` }
}

/** The names of what is left out of a request for a chat, because it is only a hint or an offer. */
export function leftOutForChat (request: ResponseRequest, items: readonly NamedItem[]): string[] {
  const tools = toolsOf(request, items).filter(({ tool }) => isNativeTool(tool))
  const names = tools.map(({ tool: { type } }) => `tools[${type}]`)
  const context = request.reasoning?.context ?? 'auto'
  return [...new Set(names), ...(context === 'auto' ? [] : ['reasoning.context'])]
}

/** The tools of a request and those that its items add, with their places. */
function toolsOf (
  { tools }: Pick<ResponseRequest, 'tools'>, items: readonly NamedItem[]
): FoundTool[] {
  return [...(tools ?? []).map((tool, at) => ({ tool, param: `tools[${at}]` })), ...foundTools(items)]
}

function isNativeTool (tool: ResponseTool): boolean {
  return tool.type === 'tool_search' ? !isClientSearch(tool) : native.has(tool.type)
}

function isNativeItem (item: ResponseInputItem): boolean {
  if (item.type === 'tool_search_output' && item.tools.some(isNativeTool)) return true
  if (item.type === 'tool_search_call' || item.type === 'tool_search_output') return !isClientSearchItem(item)
  return item.type !== undefined && nativeItems.has(item.type)
}

/** 400 when no candidate has the Responses API. */
export function needsNative ({ param, what }: NativeFeature, model: string): GatewayError {
  return GatewayError.unsupportedParameter(param, `No provider of the model \`${model.slice(0, 256)}\` offers ${what}.`)
}
