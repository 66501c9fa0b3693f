import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { breakerDefaults, requestsDefaults } from '../../../services/config/defaults.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import type { ModelConfig } from '../../../services/catalogue/types.ts'
import { configFor, providerAt, startGateway } from '../../helper.ts'
import { refusal, reply, startUpstream, type Script, type Upstream } from '../../upstream.ts'

const messages = [{ role: 'user' as const, content: 'How high is K2?' }]
const domains = ['code', 'math', 'tools', 'knowledge', 'extraction', 'chat', 'multilingual', 'long_context']
const unpriced = { cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null }

/** Two providers with a model each, of which `auto` prefers the first; the client is OpenAI's SDK. */
async function start (t: Test) {
  const upstreams = [await startUpstream(), await startUpstream()] as const
  for (const upstream of upstreams) t.teardown(() => upstream.close())
  const providers = upstreams.map(({ url }, at) => providerAt(url, { id: `p${at}` }))
  const [first] = providers
  if (first === undefined) throw new TypeError('There are two providers')
  const config = configFor(first)
  const [chat] = config.models as [ModelConfig]
  const models = [0.95, 0.6].map((quality, at): ModelConfig => ({
    ...chat,
    id: `m${at}`,
    price: { inputPico: 1e6, outputPico: 2e6, ...unpriced },
    quality: Object.fromEntries(domains.map(domain => [domain, quality])),
    deployments: [{ provider: `p${at}`, model: 'gpt-5-nano', weight: 1, priority: 0 }]
  }))
  const { url, key, app } = await startGateway(t, {
    config: {
      ...config,
      providers,
      models,
      policies: builtInPolicies(),
      requests: requestsDefaults,
      breaker: breakerDefaults
    }
  })
  return { app, upstreams, client: new OpenAI({ baseURL: url, apiKey: key }) }
}

/** Milliseconds until an answer was complete, and the provider that gave it. */
async function timed (client: OpenAI, stream: boolean) {
  const startedMs = performance.now()
  const asked = client.chat.completions.create({ model: 'auto', messages, stream })
  const { data, response } = await asked.withResponse()
  const texts = Symbol.asyncIterator in data
    ? (await Array.fromAsync(data)).map(({ choices }) => choices[0]?.delta.content ?? '')
    : [data.choices[0]?.message.content ?? '']
  const tookMs = performance.now() - startedMs
  return { tookMs, provider: response.headers.get('x-tollgate-provider'), text: texts.join('') }
}

const hanging: Script = async ({ request }) => { await request.closed }
const outages: Record<string, (upstream: Upstream) => unknown> = {
  'refuses connections': upstream => upstream.close(),
  hangs: upstream => upstream.always(hanging),
  'answers 500': upstream => upstream.always(refusal(500)),
  'answers 429': upstream => upstream.always(refusal(429))
}
const warmUps = 24
const requests = 8

for (const [outage, begin] of Object.entries(outages)) {
  for (const stream of [false, true]) {
    const form = stream ? 'streamed' : 'whole'
    t.test(`a provider that ${outage} costs a user of auto no error and less than 300 ms, ${form}`, async t => {
      const { client, upstreams: [preferred, other] } = await start(t)
      const usual = []
      for (let at = 0; at < warmUps; at++) usual.push(await timed(client, stream))
      t.ok(usual.every(({ provider }) => provider === 'p0'), 'auto prefers the provider that is about to fail')
      other.always(reply({ text: 'From the other one.' }))
      // A busy machine delays everything: the slowest answer so far shows by how much.
      const usualMs = Math.max(...usual.map(({ tookMs }) => tookMs))

      await begin(preferred)
      for (let at = 0; at < requests; at++) {
        const { tookMs, provider, text } = await timed(client, stream)
        t.match({ provider, text }, { provider: 'p1', text: 'From the other one.' })
        t.ok(tookMs - 2 * usualMs < 300, `request ${at}: ${Math.round(tookMs)} ms instead of ${Math.round(usualMs)} ms`)
      }
    })
  }
}

t.test('a provider that answers late is awaited when no other one can answer', async t => {
  const { client, upstreams: [preferred, other] } = await start(t)
  for (let at = 0; at < warmUps; at++) await timed(client, true)
  other.always(refusal(400))
  await other.close()
  const late = Promise.withResolvers<void>()
  preferred.always(async exchange => {
    await late.promise
    await reply({ text: 'Late.' })(exchange)
  })
  // The first request gives the preferred one up, finds the other one dead and returns to it.
  const answer = timed(client, true)
  while (preferred.requests.length < warmUps + 2) await preferred.nextRequest()
  late.resolve()
  t.match(await answer, { provider: 'p0', text: 'Late.' })
})
