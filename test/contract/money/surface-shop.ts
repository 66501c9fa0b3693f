import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Test } from 'tap'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import type { GatewayConfig, ModelConfig } from '../../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { reply as claudeReply, startAnthropic } from '../../servers/anthropic.ts'
import { answer as response, startResponsesServer } from '../../servers/responses.ts'
import { reply, startUpstream, type Script, type Upstream } from '../../servers/upstream.ts'
import { ask as askClaude } from '../messages/clients.ts'
import { gatherResponse } from '../responses/responses-client.ts'

/** What each provider says that an answer took: with `price` 800,000 nano-USD. */
const [prompt, completion] = [300, 50]
export const tokens = prompt + completion
export const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 10_000_000 }
export const chargeNano = 800_000

const scripts = {
  gpt: response({
    usage: {
      input_tokens: prompt,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: completion
    }
  }),
  claude: claudeReply({ usage: { input_tokens: prompt, output_tokens: completion } }),
  plain: reply({ usage: { prompt, completion } })
}
type Name = keyof typeof scripts

/** A gateway before three providers: one with the Responses API, one with the Messages API, one with chat. */
export interface SurfaceShop {
  gateway: Gateway
  upstreams: Readonly<Record<Name, Upstream>>
  /** What they answer. */
  scripts: Readonly<Record<Name, Script>>
  /** A key of an account of its own, with a credit of a dollar by default. */
  open (more?: KeyOptions, creditNano?: number): Promise<Buyer>
  /** The usage booked for a key. */
  booked (buyer: Buyer): Promise<Booked[]>
}

type KeyOptions = Omit<Parameters<Gateway['app']['keys']['create']>[0], 'account' | 'label'>
export interface Buyer { key: string, id: string, account: string }
export interface Booked { amount: number, model: string, usage: Record<string, unknown> }

/** Opens a shop whose models are called `gpt`, `claude` and `plain`. */
export async function openSurfaceShop (t: Test): Promise<SurfaceShop> {
  const [gpt, claude, plain] = [await startResponsesServer(), await startAnthropic(), await startUpstream()]
  const upstreams = { gpt, claude, plain }
  for (const [name, script] of Object.entries(scripts)) upstreams[name as Name].always(script)
  t.teardown(() => Promise.all(Object.values(upstreams).map(upstream => upstream.close())))
  const gateway = await startGateway(t, { config: configOf(upstreams) })
  const { app } = gateway
  let accounts = 0
  return {
    gateway,
    upstreams,
    scripts,
    async open (more = {}, creditNano = 1_000_000_000) {
      const account = `buyer-${++accounts}`
      await app.accounts.create({ id: account })
      if (creditNano > 0) await app.accounts.deposit({ id: `credit-${account}`, account, amountNano: creditNano })
      const { key, id } = await app.keys.create({ account, label: '', ...more })
      return { key, id, account }
    },
    async booked ({ id }) {
      await app.ledger.flush()
      const rows = await app.store.all<{ amount: number, model: string, usage: string }>(
        "select amount, model, usage from entry where kind = 'usage' and api_key = $1 order by seq", [id])
      return rows.map(row => ({ ...row, amount: Number(row.amount), usage: JSON.parse(row.usage) }))
    }
  }
}

function configOf ({ gpt, claude, plain }: SurfaceShop['upstreams']): GatewayConfig {
  const providers = [
    providerAt(gpt.url, { id: 'gpt-provider', dialect: 'openai' }),
    providerAt(new URL(claude.url).origin, { id: 'claude-provider', protocol: 'anthropic', apiKey: 'sk-ant-secret' }),
    providerAt(plain.url, { id: 'plain-provider' })
  ] as const
  const config = configFor(providers[0], { price, maxOutput: 1000 })
  const model = (id: string, upstream: string): ModelConfig[] => config.models.map(usual => {
    return { ...usual, id, deployments: [{ provider: `${id}-provider`, model: upstream, weight: 1, priority: 0 }] }
  })
  return {
    ...config,
    usage: { ...config.usage, tags: ['project', 'team'] },
    providers: [...providers],
    models: [...model('gpt', 'gpt-5-nano'), ...model('claude', 'claude-sonnet-4-5'), ...model('plain', 'some-model')]
  }
}

export interface Asking {
  model: string
  stream: boolean
  headers?: Record<string, string>
  /** Further members of the body. */
  more?: object
  max?: number
}

/** One API of the gateway, as its official SDK speaks it. */
export interface Surface {
  path: string
  /** A body with a prompt alone, which lacks the model. */
  body: object
  /** Its models: one whose provider has the same API, and one that is translated. */
  models: readonly [Name, Name]
  /** Asks, and returns the text of the answer. */
  ask (shop: SurfaceShop, buyer: Pick<Buyer, 'key'>, asking: Asking): Promise<string>
  /** The error of the SDK for a status, by its shape on the wire. */
  error (status: number): object
}

const openaiErrors: Readonly<Record<number, object>> = {
  402: { status: 402, code: 'insufficient_quota' },
  404: { status: 404, code: 'model_not_found', type: 'invalid_request_error' },
  429: { status: 429, code: 'rate_limit_exceeded', type: /^(tokens|requests)$/ }
}
const messagesErrors: Readonly<Record<number, [type: string, code: string]>> = {
  402: ['billing_error', 'insufficient_quota'],
  404: ['not_found_error', 'model_not_found'],
  429: ['rate_limit_error', 'rate_limit_exceeded']
}
const input = 'Hi'
const messages = [{ role: 'user' as const, content: input }]

export const surfaces: readonly Surface[] = [
  {
    path: '/responses',
    body: { input, max_output_tokens: 100 },
    models: ['gpt', 'plain'],
    async ask ({ gateway: { url } }, { key }, { model, stream, headers = {}, more = {}, max = 100 }) {
      const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0, defaultHeaders: headers })
      const body = { model, input, max_output_tokens: max, ...more }
      const response = await (stream ? gatherResponse(client, body) : client.responses.create(body))
      return response.output_text
    },
    error: status => openaiErrors[status] ?? { status: 0 }
  },
  {
    path: '/messages',
    body: { messages, max_tokens: 100 },
    models: ['claude', 'plain'],
    async ask ({ gateway: { url } }, { key }, { model, stream, headers = {}, more = {}, max = 100 }) {
      const baseURL = new URL(url).origin
      const client = new Anthropic({ baseURL, apiKey: key, maxRetries: 0, defaultHeaders: headers })
      const body = { model, messages, max_tokens: max, ...more }
      const { content: [block] } = await askClaude(client, body, stream)
      return block?.type === 'text' ? block.text : ''
    },
    error (status) {
      const [type, code] = messagesErrors[status] ?? []
      const error = { type, details: { error_code: code } }
      return { status, type, error: { type: 'error', error, request_id: /^req_/ } }
    }
  }
]
