import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { request } from 'undici'
import { emptyPrice } from '../../services/config/catalogue/models.ts'
import { createTransfers } from '../../services/billing/ledger/transfers.ts'
import type { GatewayConfig, ModelConfig } from '../../services/config/catalogue/types.ts'
import { sandboxModels } from '../../services/config/sandbox.ts'
import { images } from '../contract/image-shop.ts'
import { createDatabase } from '../helpers/engines.ts'
import { configFor, hastenVideos, providerAt, startGateway, type Gateway } from '../helpers/gateway.ts'
import { startHostileProvider, type Plan } from './hostile-provider.ts'
import type { Exchange, Wallet } from './money-arbitraries.ts'

/** Of models of text and of images by the token, in pico-USD. */
export const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 10_000_000 }
/** The same with other prices of service tiers, and of searches. */
export const tieredPrice = {
  ...price,
  serviceTiers: [
    { name: 'priority', inputPico: 2_000_000, outputPico: 20_000_000 },
    { name: 'flex', inputPico: 500_000, outputPico: 5_000_000 }
  ],
  searchNano: 10_000_000,
  maxSearches: 3
}

export const videoModel = 'film'

/** A gateway whose providers do what the plan of each request says. */
export interface Shop {
  gateway: Gateway
  plans: Map<string, Plan>
  /** Requests that have not ended, with or without their client. */
  open: { count: number }
}

/** Opens a shop on a database of its own. */
export async function openShop (t: Test, engine: 'sqlite' | 'postgres'): Promise<Shop> {
  const plans = new Map<string, Plan>()
  const upstream = await startHostileProvider(name => plans.get(name) ?? (() => { throw new Error(`no ${name}`) })())
  t.teardown(() => upstream.close().catch(() => {}))
  const { url } = await createDatabase(t, engine)
  const open = { count: 0 }
  const gateway = await startGateway(t, {
    config: configAt(upstream.url),
    env: { DATABASE_URL: url, TOLLGATE_STARTING_CREDIT: '0' }
  })
  hastenVideos(gateway, { minMs: 5, maxMs: 10 })
  gateway.app.server.on('request', () => { open.count++ })
  gateway.app.onRequestEnd(() => { open.count-- })
  return { gateway, plans, open }
}

/** How long the provider may take to end a call that no client waits for. */
const patienceMs = 60_000

/** Waits until no request and no job of a shop goes on, and all charges are written. */
export async function untilQuiet (
  { gateway: { app }, open }: Shop, { above }: Pick<Payers, 'above'>
): Promise<void> {
  const untilMs = performance.now() + patienceMs
  for (;;) {
    const { heldNano } = await app.ledger.balance(above)
    const jobs = await app.store.get<{ n: number }>(
      'select count(*) as n from job where finished_at is null', [])
    const goOn = open.count + (jobs?.n ?? 0) + app.ledger.openHoldCount
    if (goOn === 0 && heldNano === 0) {
      await app.ledger.flush()
      // A charge waits while its account is locked, for example by the end of a job.
      if (app.ledger.unflushedCount === 0) return
    }
    if (performance.now() > untilMs) throw new Error(`${goOn} requests, jobs and holds hold ${heldNano}`)
    await pause(10)
  }
}

function configAt (url: string): GatewayConfig {
  const timeouts = { connectMs: 500, firstByteMs: 400, idleMs: 400, totalMs: 800 }
  const at = (id: string, more: object, path = '/v1') =>
    providerAt(url.replace('/v1', path), { id, timeouts, ...more })
  const openai = at('openai', {})
  const providers = [
    openai, at('native', { dialect: 'openai' }), at('openrouter', { dialect: 'openrouter' }), at('xai', { dialect: 'xai' }),
    at('anthropic', { protocol: 'anthropic' }),
    at('google', { protocol: 'gemini' }, '/v1beta'),
    at('sandbox', { protocol: 'sandbox', videoMs: 0 })
  ]
  const config = configFor(openai, { price, maxOutput: 1000 })
  const [usual] = config.models
  if (usual === undefined) throw new Error('no model')
  const model = (id: string, provider: string, more: Partial<ModelConfig> = {}): ModelConfig => {
    const deployments = [{ provider, model: `up-${id}`, weight: 1, priority: 0 }]
    return { ...usual, id, deployments, ...more }
  }
  return {
    ...config,
    providers,
    // The provider fails all the time.
    breaker: { ...config.breaker, failures: 1e9, minRequests: 1e9 },
    models: [
      model('chat', 'openai'), model('router', 'openrouter'), model('tiered', 'xai', { price: tieredPrice }),
      model('native', 'native'),
      model('claude', 'anthropic'), model('gemini', 'google'),
      model('picture', 'openai', { kind: 'image', price: emptyPrice, images }),
      model('token-picture', 'openai', { kind: 'image', images: { ...images, prices: [] } }),
      // A call of the sandbox takes nothing but its name.
      ...sandboxModels('sandbox').filter(({ kind }) => kind === 'video').map(one => ({ ...one, id: videoModel }))
    ]
  }
}

/** What came of a request. */
export interface Answer {
  id: string
  exchange: Exchange
  /** How many calls of the provider it takes: each prompt of a translated legacy request is one. */
  calls: number
  /** Null: no whole answer arrived. */
  status: number | null
  cost: string | undefined
  text: string
}

let count = 0

/** Sends a request, and leaves if its client is to. */
export async function ask ({ gateway, plans }: Shop, key: string, exchange: Exchange): Promise<Answer> {
  const { model, isLegacy, stream, fields, headers, leavesAfterMs, plan } = exchange
  const id = `req-${++count}`
  plans.set(`plan-${count}`, plan)
  const isImage = model.endsWith('picture')
  const path = isImage ? '/images/generations' : isLegacy ? '/completions' : '/chat/completions'
  const isTranslated = isLegacy && (model === 'claude' || model === 'gemini')
  const calls = isTranslated ? 1 + exchange.more.prompts : 1
  const body = { model, ...promptOf(exchange, `plan-${count}`), ...(isImage ? {} : { stream }), ...fields }
  const sent = { ...gateway.headers, ...headers, authorization: `Bearer ${key}`, 'x-request-id': id }
  return { id, exchange, calls, ...await post(gateway.url + path, { headers: sent, body, leavesAfterMs }) }
}

interface Posted { headers: Record<string, string>, body: object, leavesAfterMs: number | null }

/** Posts a body, and leaves if its client is to. */
export async function post (
  url: string, { headers, body, leavesAfterMs }: Posted
): Promise<Pick<Answer, 'status' | 'cost' | 'text'>> {
  try {
    const signal = leavesAfterMs === null ? null : AbortSignal.timeout(leavesAfterMs)
    const answer = await request(url, { method: 'POST', headers, body: JSON.stringify(body), signal })
    const text = await answer.body.text()
    return { status: answer.statusCode, cost: answer.headers['x-tollgate-cost']?.toString(), text }
  } catch (error) {
    if (error instanceof Error) return { status: null, cost: undefined, text: '' }
    throw error
  }
}

function promptOf ({ model, isLegacy, more: { parts, prompts } }: Exchange, prompt: string): object {
  if (model.endsWith('picture')) return { prompt }
  if (isLegacy) return { prompt: prompts === 0 ? prompt : Array(prompts + 1).fill(prompt) }
  const content = parts.length === 0 ? prompt : [{ type: 'text', text: prompt }, ...parts]
  return { messages: [{ role: 'user', content }] }
}

/** An account, the one above it, and their keys. */
export interface Payers { account: string, above: string, key: string, aboveKey: string, keyIds: string[] }

let payers = 0

/** Opens two accounts with the money of a wallet. */
export async function openAccounts ({ gateway: { app } }: Shop, wallet: Wallet): Promise<Payers> {
  const { creditNano, allocatedNano, budgetNano } = wallet
  const [above, account] = [`org-${++payers}`, `team-${payers}`]
  await app.accounts.create({ id: above })
  await app.accounts.create({ id: account, parent: above })
  await app.accounts.deposit({ id: `credit-${above}`, account: above, amountNano: creditNano })
  const share = { id: `share-${above}`, from: above, to: account, amountNano: allocatedNano }
  await createTransfers(app.store).transfer(share)
  const budget = budgetNano === null ? null : { limitNano: budgetNano, period: null }
  const own = await app.keys.create({ account, label: 'fuzz', budget })
  const other = await app.keys.create({ account: above, label: 'fuzz' })
  return { account, above, key: own.key, aboveKey: other.key, keyIds: [own.id, other.id] }
}
