import { request } from 'undici'
import type { Test } from 'tap'
import type { GatewayConfig, ImageAbilities, ModelConfig, ProviderConfig } from '../../services/config/catalogue/types.ts'
import type { Database } from '../helpers/engines.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../helpers/gateway.ts'
import type { pastDeadline } from '../helpers/timeouts.ts'
import { picture, startImageServer, type ImageServer, type Reply, type Seen } from '../servers/image-server.ts'
import { emptyPrice } from '../../services/config/catalogue/models.ts'
import { until } from '../helpers/until.ts'

/** A gateway whose only model, `picture`, is served by a local server. */
export interface Shop { gateway: Gateway, server: ImageServer }

export const images: ImageAbilities = {
  sizes: ['64x64', '96x64'],
  sizeRange: null,
  defaultSize: null,
  qualities: ['low', 'high'],
  prices: [
    { size: '64x64', quality: 'high', imageNano: 40_000_000, furtherMegapixelNano: 0 },
    { size: null, quality: null, imageNano: 10_000_000, furtherMegapixelNano: 0 }
  ],
  tokens: [{ size: null, quality: null, tokens: 1000 }],
  textOutputPico: null
}
export const perImage = { kind: 'image' as const, price: emptyPrice, images }
export const perToken = {
  kind: 'image' as const,
  price: { ...emptyPrice, inputPico: 5_000_000, outputPico: 40_000_000 },
  images: { ...images, prices: [] }
}

interface ShopOptions {
  model?: Partial<ModelConfig>
  provider?: Partial<ProviderConfig>
  database?: Database
  config?: (config: GatewayConfig) => GatewayConfig
}

type Answering = (seen: Seen, url: string) => Reply | Promise<Reply>

export async function openShop (t: Test, reply: Answering, options: ShopOptions = {}): Promise<Shop> {
  const server = await startImageServer(t, reply)
  const { model = perImage, provider, database, config = same => same } = options
  const gateway = await startGateway(t, {
    config: config(configFor(providerAt(server.url, provider), { id: 'picture', ...model })),
    env: { TOLLGATE_STARTING_CREDIT: '1', ...(database === undefined ? {} : { DATABASE_URL: database.url }) }
  })
  return { gateway, server }
}

/** Waits until the gateway has noticed that no client waits for a response. */
export async function untilAllHaveLeft ({ gateway: { app } }: Pick<Shop, 'gateway'>): Promise<void> {
  await until(() => app.running.size === 0)
}

/** The shop as `pastDeadline` sees it, which may be opened by it. */
export function pairOf (shop: () => Shop | undefined): Parameters<typeof pastDeadline>[0] {
  return {
    calls: () => shop()?.server.seen.length ?? 0,
    isBusy: () => (shop()?.gateway.app.load.counts.requests ?? 0) > 0
  }
}

interface Answer {
  data: { url: string, revised_prompt: string }[]
  usage?: object
  error?: { code: string, message: string, param: string }
}

export async function post ({ gateway: { url, headers } }: Shop, body: object = {}, signal?: AbortSignal) {
  const answer = await request(`${url}/images/generations`, {
    method: 'POST', headers, body: JSON.stringify({ model: 'picture', prompt: 'A fox', ...body }), signal: signal ?? null
  })
  return { status: answer.statusCode, headers: answer.headers, body: await answer.body.json() as Answer }
}

export async function billing ({ gateway }: Shop) {
  const answer = await request(`${gateway.url}/dashboard/billing`, { headers: gateway.headers })
  return await answer.body.json() as { balance: number, total_spent: number, held: number }
}

export async function entriesOf ({ gateway: { app } }: Shop) {
  await app.ledger.flush()
  return await app.store.all("select amount, model, estimated from entry where kind = 'usage' order by seq")
}

export const png = await picture(64, 64)
const base64 = png.toString('base64')
export const made = (count = 1, usage?: object): Reply => {
  return { json: { created: 1, data: Array.from({ length: count }, () => ({ b64_json: base64 })), usage } }
}
