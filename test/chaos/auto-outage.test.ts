import { setTimeout } from 'node:timers/promises'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { breakerDefaults, requestsDefaults } from '../../services/config/defaults.ts'
import { builtInPolicies } from '../../services/config/read/policies.ts'
import type { ModelConfig } from '../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { refusal, reply, startUpstream, type Script, type Upstream } from '../servers/upstream.ts'

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

/** What a provider takes until it answers, and the requests that arrive at the beginning of its silence. */
const slow = { answerMs: 100, together: 8 }

for (const stream of [false, true]) {
  const form = stream ? 'streamed' : 'whole'
  t.test(`a slow provider that falls silent costs only the first requests time, ${form}`, async t => {
    const { app, client, upstreams: [preferred, other] } = await start(t)
    preferred.always(async exchange => {
      await setTimeout(slow.answerMs)
      await reply({ text: 'Slow.' })(exchange)
    })
    const usual = await Promise.all(Array.from({ length: warmUps }, () => timed(client, stream)))
    const usualMs = Math.max(...usual.map(({ tookMs }) => tookMs))
    other.always(reply({ text: 'From the other one.' }))
    preferred.always(hanging)
    preferred.models(hanging)
    const { breaker } = app.deployments.of({ provider: 'p0', model: 'gpt-5-nano' })
    const overdue = Promise.withResolvers<void>()
    const { overdue: note } = breaker
    breaker.overdue = (...times) => {
      note.apply(breaker, times)
      overdue.resolve()
    }

    const first = Promise.all(Array.from({ length: slow.together }, () => timed(client, stream)))
    await overdue.promise
    // The first ones still wait; what arrives now does not.
    const next = await timed(client, stream)
    t.equal(next.provider, 'p1')
    t.ok(next.tookMs - usualMs < 200, `while the first ones wait: ${Math.round(next.tookMs)} ms`)
    for (const { provider, tookMs } of await first) {
      t.equal(provider, 'p1')
      t.ok(tookMs < 2 * usualMs + 300, `at first ${Math.round(tookMs)} ms, usually ${Math.round(usualMs)} ms`)
    }
    for (let at = 0; at < requests; at++) {
      const { provider, tookMs } = await timed(client, stream)
      t.equal(provider, 'p1')
      t.ok(tookMs - usualMs < 200, `request ${at} after that: ${Math.round(tookMs)} ms`)
    }
    t.equal(preferred.requests.length, warmUps + slow.together, 'nothing else was sent to the silent provider')

    preferred.always(reply({ text: 'Here again.' }))
    breaker.trySilent()
    t.match(await timed(client, stream), { provider: 'p0', text: 'Here again.' })
  })
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
