import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { GatewayConfig, ModelConfig } from '../../../services/catalogue/types.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { createFeedbackStore } from '../../../services/routing/feedback/store-feedback.ts'
import { readFeedback } from '../../../services/routing/feedback/rows.ts'
import { configFor, providerAt, startGateway } from '../../helper.ts'
import { refusal, reply, startUpstream, type Upstream } from '../../upstream.ts'

const question = 'Explain how a combustion engine works, step by step.'
const messages = [{ role: 'user' as const, content: question }]
const all = (share: number) => ({
  quality: {
    knowledge: share, chat: share, code: share, math: share, extraction: share
  }
})
const priced = (input: number, output: number) => ({
  price: {
    inputPico: input * 1e6,
    outputPico: output * 1e6,
    cacheReadPico: null,
    cacheWritePico: null,
    imageNano: null,
    secondNano: null
  }
})

/** Two chat models, `small` and `large`, and a video model, all at one upstream. */
function configOf (upstream: Upstream): GatewayConfig {
  const config = configFor(providerAt(upstream.url))
  const [model] = config.models as [ModelConfig]
  const named = (id: string, more: Partial<ModelConfig>): ModelConfig => ({
    ...model,
    id,
    contextWindow: 128_000,
    deployments: [{
      provider: 'up', model: `up-${id}`, weight: 1, priority: 0
    }],
    ...more
  })
  const models = [
    named('small', { ...priced(0.1, 0.4), ...all(0.6) }),
    named('large', {
      ...priced(5, 20),
      ...all(0.95),
      capabilities: {
        ...model.capabilities, vision: false
      }
    }),
    named('film', { kind: 'video', ...priced(1, 1) })
  ]
  return { ...config, models, policies: builtInPolicies() }
}

interface Answered { error: { message: string }, model: string, candidates: object[] }

async function start (t: Test) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const gateway = await startGateway(t, { config: configOf(upstream) })
  async function post (path: string, body: object, headers: Record<string, string> = {}) {
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST', headers: { ...gateway.headers, ...headers }, body: JSON.stringify(body)
    })
    const answered: Answered = JSON.parse(await response.text())
    return { status: response.status, headers: response.headers, body: answered }
  }
  return {
    ...gateway,
    upstream,
    post,
    client: new OpenAI({
      baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0
    })
  }
}

t.test('auto selects a model, reports the reason and logs it', async t => {
  const { client, upstream, line } = await start(t)
  const { response, data } = await client.chat.completions.create({
    model: 'auto:quality', messages
  }).withResponse()
  t.equal((await upstream.nextRequest()).body?.model, 'up-large')
  t.equal(response.headers.get('x-tollgate-model'), 'large')
  const route = response.headers.get('x-tollgate-route') ?? ''
  t.match(route, /^policy="auto:quality", model="large", reason=best_quality, quality=0\.\d+, cost="0\.\d+", confidence=/)
  t.ok(data.choices[0]?.message.content)
  t.match(await line(({ asked }) => asked === 'auto:quality'), { model: 'large', route })
})

t.test('a stream is routed too', async t => {
  const { client } = await start(t)
  const { response, data } = await client.chat.completions.create({
    model: 'auto:cost', messages, stream: true
  }).withResponse()
  t.match(response.headers.get('x-tollgate-route'), /^policy="auto:cost", model="small"/)
  let text = ''
  for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? ''
  t.ok(text)
})

t.test('if the first model fails before the first byte, the next one answers, whatever it costs', async t => {
  const { post, upstream } = await start(t)
  upstream.always(async exchange => {
    await (exchange.request.body?.model === 'up-small' ? refusal(503) : reply())(exchange)
  })
  const answer = await post('/chat/completions', { model: 'auto:cost', messages })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('x-tollgate-model'), 'large')
  t.match(answer.headers.get('x-tollgate-route'), /model="large", reason=fallback/)
})

t.test('a request for which no model qualifies is rejected with the constraint that removed each', async t => {
  const { post, upstream } = await start(t)
  const body = { model: 'auto', messages, max_tokens: 200_000 }
  for (const path of ['/chat/completions', '/routing/decisions']) {
    const answer = await post(path, body)
    t.equal(answer.status, 400)
    t.match(answer.body.error, { code: 'no_model_qualifies', param: 'model', type: 'invalid_request_error' })
    t.match(answer.body.error.message, 'No model qualifies for `auto`: `small` and `large` have context windows too small')
  }
  t.equal(upstream.requests.length, 0)
  t.match(await post('/chat/completions', {
    model: 'auto:none', messages
  }), { status: 404, body: { error: { code: 'model_not_found' } } })
  t.match(await post('/completions', { model: 'auto', prompt: 'Hi' }), { status: 404 })
})

t.test('a request that names a model is not routed', async t => {
  const { app, client } = await start(t)
  app.router.decide = () => { throw new Error('The router was asked.') }
  const { response } = await client.chat.completions.create({ model: 'small', messages }).withResponse()
  t.equal(response.headers.get('x-tollgate-route'), null)
})

t.test('decisions list every model, cost nothing and call no provider', async t => {
  const { post, upstream, url, headers } = await start(t)
  const image = {
    role: 'user',
    content: [{
      type: 'text', text: 'What is this?'
    }, { type: 'image_url', image_url: { url: 'https://a.test/b.png' } }]
  }
  const { status, body } = await post('/routing/decisions', { model: 'auto', messages: [image] })
  t.equal(status, 200)
  t.match(body, { object: 'routing.decision', model: 'small', policy: 'auto', reason: 'only_candidate', sticky: false, domain: String, us: Number, weights_version: String, signals: { images: 1, turns: 1 } })
  t.match(body.candidates, [
    {
      model: 'small', quality: Number, cost_usd: Number, latency_ms: Number, score: Number, excluded_by: null
    },
    { model: 'large', quality: null, excluded_by: 'vision' },
    { model: 'film', excluded_by: 'kind' }
  ])
  const restricted = await post('/routing/decisions', {
    model: 'auto:cost', messages, candidates: ['large', 'missing']
  })
  t.equal(restricted.body.model, 'large')
  t.match(restricted.body.candidates, [{ model: 'large' }, { model: 'missing', excluded_by: 'unknown' }])
  t.equal(upstream.requests.length, 0)
  const billing = await fetch(`${url}/dashboard/billing`, { headers })
  t.match(await billing.json(), { total_spent: 0, held: 0 })
})

t.test('feedback is stored for requests of the same key only', async t => {
  const { app, post } = await start(t)
  const answer = await post('/chat/completions', { model: 'auto:quality', messages })
  const id = answer.headers.get('x-request-id') ?? ''
  t.match(await post(
    '/routing/feedback', { id, score: 0.25 }
  ), { status: 200, body: { object: 'routing.feedback', id, score: 0.25 } })
  t.match(await post('/routing/feedback', { id, score: 1 }), { status: 200 })
  const rows = await app.store.all('select request_id, score, model, domain, expected from routing_feedback')
  t.match(rows, [{ request_id: id, score: 1, model: 'large', domain: String, expected: Number }])
  await app.flushRequestLog()
  const [{ api_key: key = '' } = {}] = await app.store.all<{ api_key: string }>('select api_key from request_log')
  await app.store.run('delete from routing_feedback')
  await createFeedbackStore(app.store).storeScore(id, key, 0.5)
  t.match(await readFeedback(app.store), [{ requestId: id, model: 'large', score: 0.5, expected: Number }],
    'a score that another node receives has the expected quality too')
  for (const score of [-0.1, 1.1, 'good', null]) {
    t.match(await post(
      '/routing/feedback', { id, score }
    ), { status: 400 })
  }
  app.routingFeedback.recordRouted('req_other', { key: 'another', model: 'large', domain: 'chat', expected: 0.5 })
  t.match(await post('/routing/feedback', {
    id: 'req_other', score: 1
  }), { status: 404, body: { error: { code: 'request_not_found' } } })
})
