import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { ModelConfig } from '../config/catalogue/types.ts'
import type { Provider, UnmetParameters } from '../providers/provider.ts'
import { isObject } from '../shared/json.ts'
import { extraFields } from '../shared/request-fields.ts'
import { hasCacheLifetime, refusalOf } from './priced-requests.ts'

/** Parameters without which an answer would be another one; that others are dropped rules no model out. */
const needed: ReadonlySet<string> = new Set([
  'temperature', 'top_p', 'n', 'stop', 'seed', 'frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs',
  'top_logprobs', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call',
  'modalities', 'audio', 'prediction', 'reasoning_effort', 'verbosity', 'service_tier'
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

/** The values by which models work if none is given; `asksNothing` knows the others. */
const defaults: Readonly<Record<string, unknown>> = {
  temperature: 1,
  top_p: 1,
  n: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  logprobs: false,
  tool_choice: 'auto',
  function_call: 'auto',
  parallel_tool_calls: true,
  verbosity: 'medium'
}

/** Whether the answer is the same if a model drops the parameter. */
function isIdle (name: string, value: unknown): boolean {
  if (value == null || value === defaults[name]) return true
  if (name === 'modalities') return Array.isArray(value) && !value.includes('audio')
  if (name === 'service_tier') return value === 'auto' || value === 'default'
  if (name === 'response_format') return isObject(value) && value.type === 'text'
  if (name === 'logit_bias') return isObject(value) && Object.keys(value).length === 0
  return Array.isArray(value) && value.length === 0
}

const someText = { role: 'user', content: '.' } as const
const someFunction = { type: 'function', function: { name: 'f' } } as const
const someCustomTool = { type: 'custom', custom: { name: 'f' } } as const

/** The parameters of a request without its texts, so that many models can be asked; null if it has none. */
function probeOf (request: ChatCompletionRequest): ChatCompletionRequest | null {
  const { model, tools, functions, tool_choice: choice } = request
  const given = Object.entries(request)
    .filter(([name, value]) => needed.has(name) && !isIdle(name, value))
  const extras = extraFields(request).filter(({ path }) => path.length === 1)
  const isCached = hasCacheLifetime(request)
  if (given.length === 0 && extras.length === 0 && !isCached) return null
  return {
    ...Object.fromEntries([...given, ...extras.map(({ path: [name = ''], value }) => [name, value])]),
    ...(tools === undefined || tools.length === 0 ? {} : { tools: [toolLike(tools)] }),
    ...(functions === undefined ? {} : { functions: [{ name: 'f' }] }),
    ...(typeof choice === 'object' ? { tool_choice: 'required' as const } : {}),
    ...(isCached ? { cache_control: { type: 'ephemeral', ttl: '1h' } } : {}),
    model,
    messages: [someText]
  }
}

/** A tool of the rarer kind, if there is one: some models take functions alone. */
function toolLike (tools: NonNullable<ChatCompletionRequest['tools']>) {
  return tools.some(({ type }) => type === 'custom') ? someCustomTool : someFunction
}
