import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import type { ResponseRequest } from '../../../schemas/openai/responses.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ProviderCalls } from '../../chat/client-api.ts'
import { narrowPlan } from '../../chat/narrow-plan.ts'
import { reporting } from '../../chat/offered-tools.ts'
import type { ChatResponse, ChatCall, ChatProvider, NativeResponse } from '../../providers/provider.ts'
import { lacksEndpointMs, lacksResponses } from '../../providers/refusals.ts'
import { isPolicy, type Candidate } from '../../requests/candidates.ts'
import type { GatewayError } from '../../shared/errors.ts'
import type { JsonText } from '../../shared/json.ts'
import { readableBy } from './carried-reasoning.ts'
import { refuseFiles, searchTool, serverToolsOf, toolRefusal, type ServerTool } from './native-tools.ts'
import { demandsNativeTool, leftOutForChat, nativeFeatureOf, nativeToolOf, needsNative } from './response-checks.ts'
import type { ResponseTurn } from './response-input.ts'

interface NativeRequest {
  request: ResponseRequest
  original: JsonText
  turn: ResponseTurn
  /** Whether the response will be stored. */
  isStored: boolean
  /** Providers whose dialect has the API, but whose server does not. */
  withoutApi: ProvidersWithoutApi
}

export type ProvidersWithoutApi = ReturnType<typeof createProvidersWithoutApi>

/** Remembers for ten minutes which servers lack the API, so that one odd answer has no lasting effect. */
export function createProvidersWithoutApi (clock: () => number) {
  const until = new WeakMap<ChatProvider, number>()
  return {
    has: (provider: ChatProvider): boolean => (until.get(provider) ?? 0) > clock(),
    add (provider: ChatProvider): void { until.set(provider, clock() + lacksEndpointMs) }
  }
}

/** Members that mean something to the gateway alone. */
const ownMembers = ['background', 'client_metadata', 'fallbacks', 'previous_response_id', 'routing']

/**
 * Calls providers that have this API with the request as it came and the items of earlier turns, others for a
 * chat. Candidates that lack what a request needs, or have no price for it, are left out. Throws
 * GatewayError 400 for files by their id.
 */
export function nativeResponses (
  { request, original, turn: { items }, isStored, withoutApi }: NativeRequest
): ProviderCalls<ChatCompletionRequest> {
  const need = nativeFeatureOf(request, items)
  const tools = serverToolsOf(request, items)
  const isDemanded = demandsNativeTool(request, items)
  if (need !== null || tools.length > 0) refuseFiles(items)
  const all = items.map(({ item }) => item)
  const isAsWritten = typeof request.input === 'string' ? all.length === 1 : isSameList(all, request.input)
  const expanded = isAsWritten ? '' : JSON.stringify(all)

  const has = ({ provider }: Candidate<ChatProvider>): boolean =>
    provider.responses !== undefined && !withoutApi.has(provider)

  function refusalOfCandidate (candidate: Candidate<ChatProvider>): GatewayError | null {
    if (!has(candidate)) return need === null ? null : needsNative(need, candidate.model.id)
    return refusalOf(toolsAt(candidate), candidate)
  }

  function refusalOf (some: readonly ServerTool[], { model, provider, price }: Candidate<ChatProvider>) {
    // What has no price at all is refused when its price is asked for.
    const searchNano = price === null ? 0 : price.searchNano ?? null
    return toolRefusal(some, { pricing: provider.pricing, searchNano, model: model.id })
  }

  /** The tools that a candidate runs; one that is only offered, but has no price there, is left out. */
  function toolsAt (candidate: Candidate<ChatProvider>): ServerTool[] {
    if (isDemanded) return tools
    return tools.filter(tool => !isListed(tool) || refusalOf([tool], candidate) === null)
  }

  /** Why a candidate is called without a tool that is only offered. */
  function lacking (candidate: Candidate<ChatProvider>): GatewayError | null {
    if (!has(candidate)) {
      const tool = nativeToolOf(request, items)
      return tool === null ? null : needsNative(tool, candidate.model.id)
    }
    const run = toolsAt(candidate)
    return refusalOf(tools.filter(tool => !run.includes(tool)), candidate)
  }

  /** The changes of the body for one candidate. */
  function editsFor (
    candidate: Candidate<ChatProvider>, leftOut: readonly ServerTool[]
  ): Map<string, unknown> {
    const edits = new Map<string, unknown>(ownMembers.map(name => [name, undefined]))
    const readable = readableBy(all, candidate.provider.id)
    if (!isAsWritten || readable !== all) edits.set('input', readable)
    if (leftOut.length === 0) return edits
    const places = new Set(leftOut.map(({ param }) => param))
    const rest = request.tools?.filter((_, at) => !places.has(`tools[${at}]`)) ?? []
    if (rest.length > 0) return edits.set('tools', rest)
    return edits.set('tools', undefined).set('tool_choice', undefined)
  }

  /** Calls for a response; for a chat where the server lacks the endpoint, which it says before any work. */
  async function callNatively (
    candidate: Candidate<ChatProvider>, call: ChatCall, responses: NonNullable<ChatProvider['responses']>
  ): Promise<NativeResponse | ChatResponse> {
    const { provider, price } = candidate
    const run = toolsAt(candidate)
    const maxSearches = searchesIn(run) ? price?.maxSearches ?? 1 : 0
    const leftOut = tools.filter(tool => !run.includes(tool))
    const edits = editsFor(candidate, leftOut)
    try {
      const response = await responses({ ...call, original, edits, maxSearches, keepsReasoning: isStored })
      return reporting(response, [...new Set(leftOut.map(({ name }) => `tools[${name}]`))])
    } catch (error) {
      const isOnlyHere = provider.responsesOnly?.test(call.model) === true
      if (need !== null || isOnlyHere || !lacksResponses(error)) throw error
      const response = await callForChat(provider, call)
      withoutApi.add(provider)
      return response
    }
  }

  async function callForChat (provider: ChatProvider, call: ChatCall): Promise<ChatResponse> {
    return reporting(await provider.chat(call), leftOutForChat(request, items))
  }

  return {
    call (candidate, call) {
      const { provider } = candidate
      const { responses } = provider
      if (responses === undefined || !has(candidate)) return callForChat(provider, call)
      return callNatively(candidate, call, responses)
    },
    bodyBytes: original.bytes.length + Buffer.byteLength(expanded),
    mayShorten: request.truncation === 'auto',
    extras: candidate => has(candidate) && searchesIn(toolsAt(candidate)) ? { searches: true } : {},
    speaks: has,
    lacking,
    cacheKey: original.value,
    ...(need === null && tools.length === 0
      ? {}
      : { narrow: plan => narrowPlan(plan, refusalOfCandidate, isPolicy(request.model)) })
  }
}

const searchesIn = (tools: readonly ServerTool[]): boolean => tools.some(({ name }) => name === searchTool)

/** Whether a tool is in the list of the request, from which it can be taken out. */
const isListed = ({ param }: ServerTool): boolean => /^tools\[\d+\]$/.test(param)

function isSameList (items: readonly ResponseInputItem[], input: readonly ResponseInputItem[]): boolean {
  return items.length === input.length && items.every((item, at) => item === input[at])
}
