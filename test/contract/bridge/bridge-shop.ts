import type { Test } from 'tap'
import OpenAI from 'openai'
import type { GatewayConfig, ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { startOpenAI, type MoreRules } from '../../servers/openai-rules.ts'
import type { Item } from '../../servers/responses.ts'
import type { Upstream } from '../../servers/upstream.ts'
import { anthropicAt } from '../messages/clients.ts'
import { price } from '../responses/native-shop.ts'

export { bodiesOf, bookedBy, lastBody, pathsOf } from '../responses/native-shop.ts'

/** 800 tokens of plain input, 200 of cached, 100 of output. */
export const usualNano = 800 * 1000 + 200 * 100 + 100 * 10_000

export interface BridgeShop {
  gateway: Gateway
  client: OpenAI
  claude: ReturnType<typeof anthropicAt>
  upstream: Upstream
}

interface ShopOptions {
  /** The name of the model here and at the provider. */
  model?: string
  provider?: Partial<ProviderConfig>
  rules?: MoreRules
  config?: (config: GatewayConfig, upstream: Upstream) => GatewayConfig
}

/** A gateway before a server that refuses what OpenAI refuses. */
export async function openBridge (t: Test, options: ShopOptions = {}): Promise<BridgeShop> {
  const { model = 'gpt-5.6-luna', provider, rules, config = one => one } = options
  const upstream = await startOpenAI(rules)
  t.teardown(() => upstream.close())
  const deployments = [{ provider: 'up', model, weight: 1, priority: 0 }]
  const usual = configFor(providerAt(upstream.url, { dialect: 'openai', ...provider }), { id: model, deployments, price })
  const gateway = await startGateway(t, { config: config(usual, upstream) })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  return { gateway, client, claude: anthropicAt(gateway), upstream }
}

export const weatherTool = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  }
}

export const call = (city: string, id = `call_${city}`): Item => ({
  type: 'function_call',
  id: `fc_${city}`,
  call_id: id,
  name: 'get_weather',
  arguments: JSON.stringify({ city }),
  status: 'completed'
})

export const messages = [{ role: 'user' as const, content: `What is the weather in Rome? ${'word '.repeat(300)}` }]

/** A completion, whole or assembled by the SDK from its stream. */
export async function complete (
  client: OpenAI, body: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>, isStream: boolean
): Promise<OpenAI.ChatCompletion> {
  if (!isStream) return await client.chat.completions.create(body)
  const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } })
  return await stream.finalChatCompletion()
}
