import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import type { ResponseRequest } from '../../../schemas/openai/responses.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ProviderCalls } from '../../chat/client-api.ts'
import type { ChatResponse, ChatCall, ChatProvider, NativeResponse } from '../../providers/provider.ts'
import { isPolicy, type Candidate } from '../../requests/candidates.ts'
import { isMissingModel } from '../../requests/classify-failure.ts'
import { UpstreamError, type GatewayError } from '../../shared/errors.ts'
import type { JsonText } from '../../shared/json.ts'
import { narrowPlan } from '../narrow-plan.ts'
import { readableBy } from './carried-reasoning.ts'
import { refuseFiles, searchTool, serverToolsOf, toolRefusal } from './native-tools.ts'
import { nativeFeatureOf, needsNative } from './response-checks.ts'
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

/** For how long a server that lacks the API is not asked for it again. */
const lacksApiMs = 10 * 60_000

/** Remembers for ten minutes which servers lack the API, so that one odd answer has no lasting effect. */
export function createProvidersWithoutApi (clock: () => number) {
  const until = new WeakMap<ChatProvider, number>()
  return {
    has: (provider: ChatProvider): boolean => (until.get(provider) ?? 0) > clock(),
    add (provider: ChatProvider): void { until.set(provider, clock() + lacksApiMs) }
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
  if (need !== null) refuseFiles(items)
  const searches = tools.some(({ name }) => name === searchTool)
  const all = items.map(({ item }) => item)
  const isAsWritten = typeof request.input === 'string' ? all.length === 1 : isSameList(all, request.input)
  const expanded = isAsWritten ? '' : JSON.stringify(all)

  const has = ({ provider }: Candidate<ChatProvider>): boolean =>
    provider.responses !== undefined && !withoutApi.has(provider)

  function refusalOfCandidate (candidate: Candidate<ChatProvider>): GatewayError | null {
    const { model, provider, price } = candidate
    if (!has(candidate)) return need === null ? null : needsNative(need, model.id)
    // What has no price at all is refused when its price is asked for.
    const searchNano = price === null ? 0 : price.searchNano ?? null
    return toolRefusal(tools, { pricing: provider.pricing, searchNano, model: model.id })
  }

  /** The changes of the body for one provider. */
  function editsFor (provider: string): Map<string, unknown> {
    const edits = new Map<string, unknown>(ownMembers.map(name => [name, undefined]))
    const readable = readableBy(all, provider)
    if (!isAsWritten || readable !== all) edits.set('input', readable)
    return edits
  }

  /** Calls for a response; for a chat where the server lacks the endpoint, which it says before any work. */
  async function callNatively (
    { provider, price }: Candidate<ChatProvider>, call: ChatCall, responses: NonNullable<ChatProvider['responses']>
  ): Promise<NativeResponse | ChatResponse> {
    const maxSearches = searches ? price?.maxSearches ?? 1 : 0
    const edits = editsFor(provider.id)
    try {
      return await responses({ ...call, original, edits, maxSearches, keepsReasoning: isStored })
    } catch (error) {
      const isOnlyHere = provider.responsesOnly?.test(call.model) === true
      if (need !== null || isOnlyHere || !lacksEndpoint(error)) throw error
      const response = await provider.chat(call)
      withoutApi.add(provider)
      return response
    }
  }

  return {
    call (candidate, call) {
      const { provider: { responses } } = candidate
      if (responses === undefined || !has(candidate)) return candidate.provider.chat(call)
      return callNatively(candidate, call, responses)
    },
    bodyBytes: original.bytes.length + Buffer.byteLength(expanded),
    mayShorten: request.truncation === 'auto',
    extras: candidate => has(candidate) && searches ? { searches } : {},
    speaks: has,
    cacheKey: original.value,
    ...(need === null
      ? {}
      : { narrow: plan => narrowPlan(plan, refusalOfCandidate, isPolicy(request.model)) })
  }
}

function isSameList (items: readonly ResponseInputItem[], input: readonly ResponseInputItem[]): boolean {
  return items.length === input.length && items.every((item, at) => item === input[at])
}

/** Whether a server has no such endpoint, or the operator's key may not use it. */
function lacksEndpoint (error: unknown): boolean {
  if (!(error instanceof UpstreamError) || isMissingModel(error)) return false
  const { message, details: { status } } = error
  // OpenAI's restricted keys name endpoints: "Missing scopes: api.responses.write."
  if (status === 401 || status === 403) return message.includes('Missing scopes:') && message.includes('api.responses.')
  return status === 404 || status === 405
}
