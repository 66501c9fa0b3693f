import Anthropic from '@anthropic-ai/sdk'
import type { Test } from 'tap'
import type { GatewayConfig } from '../../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { complaintAboutEvents } from '../../helpers/message-grammar.ts'
import { startAnthropic } from '../../servers/anthropic.ts'
import { startGemini } from '../../servers/gemini.ts'
import { startUpstream } from '../../servers/upstream.ts'

type Params = Anthropic.MessageCreateParamsNonStreaming

/** The official SDK against a gateway; its base URL is without `/v1`, which it adds itself. */
export function anthropicAt ({ url, key }: Pick<Gateway, 'url' | 'key'>, more: object = {}): Anthropic {
  return new Anthropic({ baseURL: new URL(url).origin, apiKey: key, maxRetries: 0, ...more })
}

/** The whole message, asked for whole or as a stream, whose events must keep the rules. */
export async function ask (client: Anthropic, params: Params, isStream: boolean): Promise<Anthropic.Message> {
  if (!isStream) return await client.messages.create(params)
  const events: Record<string, unknown>[] = []
  const stream = client.messages.stream(params)
  stream.on('streamEvent', event => { events.push({ ...event }) })
  const message = await stream.finalMessage()
  const complaint = complaintAboutEvents(events)
  if (complaint !== null) throw new Error(complaint)
  return message
}

/** A gateway in front of one scripted server, whose model is called `chat`. */
export async function gatewayFor<S extends { url: string, close (): Promise<void> }> (
  t: Test, server: S, config: GatewayConfig
) {
  t.teardown(() => server.close())
  const gateway = await startGateway(t, { config })
  return { gateway, server, client: anthropicAt(gateway) }
}

export const priced = {
  inputPico: 3_000_000,
  outputPico: 15_000_000,
  cacheReadPico: 300_000,
  cacheWritePico: 3_750_000,
  cacheWrite1hPico: 6_000_000,
  imageNano: null,
  secondNano: null
}

export async function startOpenAIPair (t: Test, more: Parameters<typeof configFor>[1] = {}) {
  const server = await startUpstream()
  return await gatewayFor(t, server, configFor(providerAt(server.url), { price: priced, ...more }))
}

export async function startClaudePair (t: Test, more: Parameters<typeof configFor>[1] = {}) {
  const server = await startAnthropic()
  const provider = providerAt(new URL(server.url).origin, { protocol: 'anthropic', apiKey: 'sk-ant-secret' })
  const deployments = [{ provider: provider.id, model: 'claude-sonnet-4-5', weight: 1, priority: 0 }]
  const model = { price: priced, deployments, maxOutput: 64_000, ...more }
  return await gatewayFor(t, server, configFor(provider, model))
}

export async function startGeminiPair (t: Test) {
  const server = await startGemini()
  const provider = providerAt(server.baseUrl, { protocol: 'gemini', apiKey: 'gm-key' })
  const deployments = [{ provider: provider.id, model: 'gemini-3.5-flash', weight: 1, priority: 0 }]
  return await gatewayFor(t, server, configFor(provider, { price: priced, deployments }))
}
