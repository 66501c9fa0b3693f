import type { Test } from 'tap'
import OpenAI from 'openai'
import type { GatewayConfig, ModelConfig, Price, ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { startResponsesServer } from '../../servers/responses.ts'
import type { Upstream } from '../../servers/upstream.ts'

export const price: Price = {
  inputPico: 1_000_000,
  outputPico: 10_000_000,
  cacheReadPico: 100_000,
  cacheWritePico: 1_250_000,
  imageNano: null,
  secondNano: null
}

export interface Shop { gateway: Gateway, client: OpenAI, upstream: Upstream }

interface ShopOptions {
  provider?: Partial<ProviderConfig>
  model?: Partial<ModelConfig>
  config?: (config: GatewayConfig, upstream: Upstream) => GatewayConfig
  env?: NodeJS.ProcessEnv
}

/** A gateway before a provider that has the Responses API, whose model is called `chat`. */
export async function openShop (t: Test, options: ShopOptions = {}): Promise<Shop> {
  const { provider, model, config = one => one, env = {} } = options
  const upstream = await startResponsesServer()
  t.teardown(() => upstream.close())
  const usual = configFor(providerAt(upstream.url, { dialect: 'openai', ...provider }), { price, ...model })
  const gateway = await startGateway(t, { config: config(usual, upstream), env })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  return { gateway, client, upstream }
}

export const bodiesOf = ({ upstream }: Pick<Shop, 'upstream'>) =>
  upstream.requests.map(({ body }): Record<string, unknown> => ({ ...body }))
export const lastBody = (shop: Pick<Shop, 'upstream'>) => bodiesOf(shop).at(-1) ?? {}
export const pathsOf = ({ upstream }: Pick<Shop, 'upstream'>) => upstream.requests.map(({ path }) => path)

export interface Booked { amount: number, estimated: number, usage: Record<string, number> }

/** What has been booked as usage, oldest first. */
export async function bookedBy ({ gateway: { app } }: Pick<Shop, 'gateway'>): Promise<Booked[]> {
  await app.ledger.flush()
  const rows = await app.store.all<{ amount: number, estimated: number, usage: string }>(
    "select amount, estimated, usage from entry where kind = 'usage' order by seq", [])
  return rows.map(({ amount, estimated, usage }) => {
    return { amount: Number(amount), estimated: Number(estimated), usage: JSON.parse(usage) }
  })
}
