import type { IncomingHttpHeaders } from 'node:http'
import type { CreateMessageRequest } from '../../../schemas/anthropic/messages.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import type { ChatOrText, ProviderCalls } from '../../chat/client-api.ts'
import { narrowPlan } from '../../chat/narrow-plan.ts'
import { reporting } from '../../chat/offered-tools.ts'
import { versionHeaderName } from '../../http/messages-error.ts'
import { isPolicy, type Candidate } from '../../requests/candidates.ts'
import type { ChatCall, ChatProvider } from '../../providers/provider.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isObject, JsonText } from '../../shared/json.ts'
import { convertToChat } from './convert-to-chat.ts'
import { nativeNeedOf, needOf, noPrice, type NativeNeed } from './native-needs.ts'
import { isPriced, isSearchTool, ownTools, type OwnTool } from './offered-tools.ts'

const betaHeader = 'anthropic-beta'
const longContext = { beta: /(^|[\s,])context-1m-/, tokens: 1_000_000 }

/** The headers that say which features of the API a client knows. */
export function versionHeadersOf (headers: IncomingHttpHeaders): Record<string, string> {
  const given = [versionHeaderName, betaHeader].map(name => [name, headers[name]] as const)
  return Object.fromEntries(given.flatMap(([name, value]) => typeof value === 'string' ? [[name, value]] : []))
}

interface NativeRequest { request: CreateMessageRequest, original: JsonText, headers: IncomingHttpHeaders }

/**
 * Calls providers that have this API with the message as it came, others for a chat. Candidates that lack
 * what a request needs, or have no price for it, are left out; tools that it only offers are left out of the
 * request.
 */
export function nativeMessages (
  { request, original, headers }: NativeRequest
): ProviderCalls<ChatCompletionRequest> {
  const need = nativeNeedOf(request)
  const versionHeaders = versionHeadersOf(headers)
  const { demanded, offered } = ownTools(request)
  const isLong = longContext.beta.test(versionHeaders[betaHeader] ?? '')
  const longCache = hasLongCache(original.value)
  const thoughtTokens = thoughtsBeyond(request)

  function refusalOfCandidate (candidate: Candidate<ChatProvider>): GatewayError | null {
    const { model, price } = candidate
    if (messagesOf(candidate) === null) return need === null ? null : notHere(need, model.id)
    const search = demanded.find(isSearchTool)
    if (search !== undefined && isUnpriced(search, price)) return unpricedSearch(model.id, search)
    const isShort = model.contextWindow !== null && model.contextWindow < longContext.tokens
    return isLong && isShort ? tooShort(model.id) : null
  }

  /** The tools without which a candidate is called. */
  function leftOutAt (candidate: Candidate<ChatProvider>): OwnTool[] {
    const isNative = messagesOf(candidate) !== null
    return isNative ? offered.filter(tool => isUnpriced(tool, candidate.price)) : offered
  }

  function lacking (candidate: Candidate<ChatProvider>): GatewayError | null {
    const { model: { id } } = candidate
    const [tool] = leftOutAt(candidate)
    if (tool === undefined) return null
    if (messagesOf(candidate) === null) return notHere(needOf(tool), id)
    return isSearchTool(tool) ? unpricedSearch(id, tool) : noPrice(tool)
  }

  function searchesAt (candidate: Candidate<ChatProvider>): boolean {
    const leftOut = leftOutAt(candidate)
    return [...demanded, ...offered].some(tool => isSearchTool(tool) && !leftOut.includes(tool))
  }

  async function call (candidate: Candidate<ChatProvider>, chat: ChatCall): Promise<ChatOrText> {
    const { provider, price } = candidate
    const leftOut = leftOutAt(candidate)
    const names = leftOut.map(({ type }) => `tools[${type.replace(/\W/g, '_').slice(0, 64)}]`)
    const messages = messagesOf(candidate)
    if (messages === null) {
      const takesMarks = provider.cacheBreakpoints?.test(chat.model) === true
      return reporting(await provider.chat(takesMarks ? withCacheMarks(chat, request) : chat), names)
    }
    const maxSearches = searchesAt(candidate) ? price?.maxSearches ?? 1 : 0
    const body = withoutTools(original, leftOut)
    return reporting(await messages({ ...chat, original: body, versionHeaders, maxSearches }), names)
  }

  return {
    call,
    lacking: offered.length === 0 ? undefined : lacking,
    bodyBytes: original.bytes.length,
    cacheKey: [original.value, versionHeaders],
    mayShorten: request.context_management?.edits?.some(({ type }) => type === 'clear_tool_uses_20250919') === true,
    extras (candidate) {
      if (messagesOf(candidate) === null) return {}
      return { longCache, searches: searchesAt(candidate), ...(thoughtTokens > 0 ? { thoughtTokens } : {}) }
    },
    ...(need === null && !demanded.some(isSearchTool) && !isLong
      ? {}
      : { narrow: plan => narrowPlan(plan, refusalOfCandidate, isPolicy(request.model)) })
  }
}

/** The chat with the client's marks of cached prefixes, if it has set any; none are set for it then. */
function withCacheMarks (chat: ChatCall, request: CreateMessageRequest): ChatCall {
  const messages = convertToChat(request, 'kept')
  if (!messages.some(hasMark)) return chat
  // A mark of the whole request leaves the last one to the provider.
  const options = request.cache_control == null ? { prompt_cache_options: { mode: 'explicit' as const } } : {}
  const body = { ...chat.body, messages, ...options }
  return { ...chat, body, rawBody: JsonText.from(body) }
}

function hasMark ({ content }: ChatMessage): boolean {
  return Array.isArray(content) && content.some(part => 'prompt_cache_breakpoint' in part)
}

/** What calls a candidate natively; null if its provider has no such API for the model. */
function messagesOf (
  { provider: { messages, messageModels }, deployment }: Candidate<ChatProvider>
): NonNullable<ChatProvider['messages']> | null {
  return messages === undefined || messageModels?.test(deployment.model) === false ? null : messages
}

/** Throws GatewayError 400 for what only a provider with this API does; videos are made by none. */
export function refuseNativeNeeds (request: CreateMessageRequest): void {
  const need = nativeNeedOf(request)
  if (need !== null) throw notHere(need, request.model)
}

function notHere ({ param, what }: NativeNeed, model: string): GatewayError {
  const message = `The field '${param}' asks for ${what}, which only providers with the Messages API have; ` +
    `\`${model}\` runs at none.`
  return GatewayError.unsupportedParameter(param, message)
}

/** Whether a tool has no price at a provider of this API; a model without any price is refused elsewhere. */
function isUnpriced (tool: OwnTool, price: Candidate['price']): boolean {
  return isSearchTool(tool) ? price !== null && price.searchNano == null : !isPriced(tool)
}

/** A body without some of its tools; without a choice if none is left. */
function withoutTools (original: JsonText, leftOut: readonly OwnTool[]): JsonText {
  const { value } = original
  if (leftOut.length === 0 || !isObject(value) || !Array.isArray(value.tools)) return original
  const places = new Set(leftOut.map(({ param }) => param))
  const tools: unknown[] = value.tools.filter((_, at) => !places.has(`tools[${at}]`))
  return tools.length > 0 ? JsonText.from({ ...value, tools }) : original.without(['tools', 'tool_choice'])
}

function unpricedSearch (model: string, { param }: OwnTool): GatewayError {
  const message = `The model \`${model}\` has no price for the web searches of '${param}' on this gateway, so it is ` +
    'refused. The operator can set one in gateway.yaml, under the model: price: { search: … }.'
  return GatewayError.invalidRequest(message, { param, code: 'parameter_not_priced' })
}

function tooShort (model: string): GatewayError {
  const message = `The header '${betaHeader}' asks for a context of a million tokens, ` +
    `which \`${model}\` does not have here.`
  return GatewayError.unsupportedParameter(betaHeader, message)
}

/**
 * The tokens of thoughts that the output limit does not count: a budget above it is for all thoughts between
 * calls of tools. Source: platform.claude.com, "Extended thinking", interleaved thinking.
 */
function thoughtsBeyond ({ thinking, max_tokens: limit }: CreateMessageRequest): number {
  return thinking?.type === 'enabled' && thinking.budget_tokens >= limit ? thinking.budget_tokens : 0
}

/** Whether a part of a prompt is to be cached for an hour, wherever it stands. */
function hasLongCache (value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasLongCache)
  if (!isObject(value)) return false
  const { cache_control: control, messages, system, tools, content } = value
  if (isObject(control) && control.ttl === '1h') return true
  return [messages, system, tools, content].some(part => Array.isArray(part) && hasLongCache(part))
}
