import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { ModelConfig } from '../catalogue/types.ts'
import type { Provider, UnmetParameters } from '../providers/provider.ts'
import { extraFields } from '../shared/request-fields.ts'
import { hasCacheLifetime, refusalOf } from './request-checks.ts'

/** Parameters without which an answer would be another one; that others are dropped rules no model out. */
const needed: ReadonlySet<string> = new Set([
  'temperature', 'top_p', 'n', 'stop', 'seed', 'frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs',
  'top_logprobs', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call',
  'modalities', 'audio', 'prediction', 'reasoning_effort', 'verbosity', 'service_tier', 'web_search_options'
])

/**
 * Returns a function that tells which parameters of a request a model would not meet at one of its
 * deployments, because the adapter drops them or the price does not cover them; null if it needs none.
 */
export function createUnmetParameters (providerOf: (id: string) => Provider | undefined) {
  return (request: ChatCompletionRequest): ((model: ModelConfig) => UnmetParameters) | null => {
    const probe = probeOf(request)
    return probe && (model => {
      const dropped = new Set<string>()
      const refused = new Set<string>()
      for (const deployment of model.deployments) {
        const provider = providerOf(deployment.provider)
        if (provider === undefined) continue
        const unmet = provider.unmet?.(probe, deployment.model)
        for (const name of unmet?.dropped ?? []) if (needed.has(name)) dropped.add(name)
        for (const name of unmet?.refused ?? []) refused.add(name)
        const price = deployment.price === undefined ? model.price : deployment.price
        const unpriced = refusalOf(probe, { model, provider, deployment, price })
        if (unpriced !== null) refused.add(unpriced.param ?? 'model')
      }
      return { dropped: [...dropped], refused: [...refused] }
    })
  }
}

const someText = { role: 'user', content: '.' } as const
const someTool = { type: 'function', function: { name: 'f' } } as const

/** The parameters of a request without its texts, so that many models can be asked; null if it has none. */
function probeOf (request: ChatCompletionRequest): ChatCompletionRequest | null {
  const { model, tools, functions, tool_choice: choice } = request
  const given = Object.entries(request).filter(([name, value]) => needed.has(name) && value != null)
  const extras = extraFields(request).filter(({ path }) => path.length === 1)
  const isCached = hasCacheLifetime(request)
  if (given.length === 0 && extras.length === 0 && !isCached) return null
  return {
    ...Object.fromEntries([...given, ...extras.map(({ path: [name = ''], value }) => [name, value])]),
    ...(tools === undefined || tools.length === 0 ? {} : { tools: [someTool] }),
    ...(functions === undefined ? {} : { functions: [{ name: 'f' }] }),
    ...(typeof choice === 'object' ? { tool_choice: 'required' as const } : {}),
    ...(isCached ? { cache_control: { type: 'ephemeral', ttl: '1h' } } : {}),
    model,
    messages: [someText]
  }
}
