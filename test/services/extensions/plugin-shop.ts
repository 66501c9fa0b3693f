import { request } from 'undici'
import type { Test } from 'tap'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { sandboxModels, sandboxProvider } from '../../../services/config/sandbox.ts'
import type { TollgatePlugin } from '../../../services/extensions/types.ts'
import { configFor, hastenVideos, providerAt, startGateway } from '../../helpers/gateway.ts'
import { reply, startUpstream } from '../../servers/upstream.ts'

/** With the upstream's count, an answer costs 800,000 nano-USD. */
const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 10_000_000 }
const counted = { prompt: 300, completion: 50 }
export const chargeNano = 800_000

export const prompt = 'My card is 4111.'

interface Api { path: string, body: object, textOf (body: Body): string }
/** The members of the responses of all APIs that the tests read. */
interface Body {
  choices: { message: { content: string }, text: string }[]
  output: { content: { text: string }[] }[]
  content: { text: string }[]
}

/** Every API as a client uses it: the same prompt, and where its response has the text. */
export const apis: Readonly<Record<'chat' | 'responses' | 'messages' | 'completions', Api>> = {
  chat: {
    path: '/chat/completions',
    body: { model: 'chat', messages: [{ role: 'user', content: prompt }] },
    textOf: ({ choices: [first] }) => first?.message.content ?? ''
  },
  responses: {
    path: '/responses', body: { model: 'chat', input: prompt }, textOf: ({ output }) => output.at(-1)?.content[0]?.text ?? ''
  },
  messages: {
    path: '/messages',
    body: { model: 'chat', max_tokens: 100, messages: [{ role: 'user', content: prompt }] },
    textOf: ({ content: [first] }) => first?.text ?? ''
  },
  completions: {
    path: '/completions', body: { model: 'chat', prompt, max_tokens: 100 }, textOf: ({ choices: [first] }) => first?.text ?? ''
  }
}

/** The text of a stream of any of these APIs. */
export function streamedText (events: string): string {
  const deltas = [...events.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data))
  return deltas.map(data => {
    if (data.type === 'response.output_text.delta') return data.delta
    if (data.type === 'content_block_delta') return data.delta.text ?? ''
    return data.choices?.[0]?.delta?.content ?? data.choices?.[0]?.text ?? ''
  }).join('')
}

/** A gateway with these plugins before an upstream, and with the sandbox's images and videos. */
export async function openPluginShop (t: Test, plugins: readonly TollgatePlugin[], more: object = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  upstream.always(reply({ text: ['Your ', 'card ', 'is ', 'safe.'], usage: counted }))
  const base = configFor(providerAt(upstream.url, { dialect: 'openai' }), { price, maxOutput: 1000 })
  const providers = [...base.providers, { ...sandboxProvider, videoMs: 100 }]
  const config = { ...base, providers, models: [...base.models, ...sandboxModels('sandbox')], ...more }
  const gateway = await startGateway(t, { config, plugins, env: { TOLLGATE_STARTING_CREDIT: '10' } })
  hastenVideos(gateway, { minMs: 20, maxMs: 50 })
  const { app } = gateway
  return {
    gateway,
    upstream,
    async post (path: string, body: object, headers: Record<string, string> = {}) {
      const response = await request(`${gateway.url}${path}`, {
        method: 'POST', headers: { ...gateway.headers, ...headers }, body: JSON.stringify(body)
      })
      const text = await response.body.text()
      return { status: response.statusCode, headers: response.headers, text, json: () => JSON.parse(text) }
    },
    /** What was charged and is held, once all of it is written. */
    async books () {
      await app.ledger.flush()
      const { spentNano, heldNano } = await app.ledger.balance('default')
      return { spentNano, heldNano }
    }
  }
}
