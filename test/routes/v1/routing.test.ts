import { Writable } from 'node:stream'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { GatewayConfig, ModelConfig } from '../../../services/config/catalogue/types.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { runCommandLine } from '../../../cli/run.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { refusal, reply, startUpstream, type Upstream } from '../../servers/upstream.ts'

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

interface Answered {
  error: { message: string }, model: string, summary: string, candidates: { quality: number | null }[]
}

/** A gateway whose models are those of `configOf` and copies of `small`. */
async function start (t: Test, { copies = 0, env = {} }: { copies?: number, env?: NodeJS.ProcessEnv } = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const config = configOf(upstream)
  const [small] = config.models as [ModelConfig]
  config.models.push(...Array.from({ length: copies }, (_, at) => ({ ...small, id: `copy-${at}` })))
  const gateway = await startGateway(t, { config, env })
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
  t.match(route, /^policy="auto:quality", model="large", reason=best_quality, quality=0\.\d\d, basis=operator, cost="0\.\d+", best="large", saved="0", confidence=/)
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

t.test('the dial and the list of a request choose the model, and no provider sees them', async t => {
  const { post, upstream } = await start(t)
  const ask = async (routing: object, path = '/chat/completions') =>
    await post(path, { model: 'auto', messages, routing })
  const chosen: (string | null)[] = []
  for (const wishes of [{ cost_quality: 0 }, { cost_quality: 10 }, { cost_quality: 10, models: ['sm*'] }]) {
    const answer = await ask(wishes)
    chosen.push(answer.headers.get('x-tollgate-model'))
    t.notOk('routing' in ((await upstream.nextRequest()).body ?? {}), 'the field stays here')
    t.equal((await ask(wishes, '/routing/decisions')).body.model, chosen.at(-1), 'the dry run agrees')
  }
  t.same(chosen, ['small', 'large', 'small'])
  for (const [routing, param] of [[{ cost_quality: 11 }, 'routing.cost_quality'], [{ quality: 1 }, 'routing']] as const) {
    t.match(await ask(routing), { status: 400, body: { error: { param: new RegExp(`^${param}`) } } })
  }
  for (const missing of ['missing', 'missing/*']) {
    t.match(await ask({ models: [missing, missing] }), {
      status: 400, body: { error: { code: 'no_model_qualifies', param: 'routing.models', message: `\`${missing}\` is not available here` } }
    })
  }
  t.match(await post('/routing/decisions', { model: 'auto', messages, candidates: ['missing'] }), {
    status: 400, body: { error: { param: 'candidates' } }
  })
  t.match(await ask({ models: ['film', 'large'], cost_quality: 1 }), { status: 200 })
  t.match(await post('/chat/completions', { model: 'small', messages, routing: { cost_quality: 1 } }), {
    status: 400, body: { error: { param: 'routing', message: /only allowed with the model `auto`/ } }
  })
})

t.test('savings against the best model are in the header, in the usage of the day and in the client\'s own', async t => {
  const { app, client, url, headers } = await start(t)
  const { response, data } = await client.chat.completions.create({ model: 'auto:cost', messages }).withResponse()
  const [, best, saved] = /best="(\w+)", saved="([\d.]+)"/.exec(response.headers.get('x-tollgate-route') ?? '') ?? []
  t.equal(best, 'large')
  t.ok(Number(saved) > 0)
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = data.usage ?? {}
  const expectedUsd = (prompt * (5 - 0.1) + completion * (20 - 0.4)) / 1e6
  await client.chat.completions.create({ model: 'auto:quality', messages })
  await client.chat.completions.create({ model: 'small', messages })
  const own = await fetch(`${url}/dashboard/billing/usage`, { headers })
  const usage: { total_saved: number, daily_costs: { saved: number }[] } = JSON.parse(await own.text())
  t.ok(Math.abs(usage.total_saved / 100 - expectedUsd) < 2e-9, `${usage.total_saved} is ${expectedUsd}`)
  t.equal(usage.daily_costs.at(-1)?.saved, usage.total_saved)
  const rows = await app.store.all<{ usage: string }>("select usage from entry where kind = 'usage' order by seq")
  t.same(rows.map(({ usage }) => 'saved' in JSON.parse(usage)), [true, true, false], 'only of requests to a policy')
})

t.test('a stream and several prompts of a text completion are routed through chat', async t => {
  const { client, post, upstream } = await start(t)
  const { response, data } = await client.completions.create({ model: 'auto:cost', prompt: ['One', 'Two'] }).withResponse()
  t.match(response.headers.get('x-tollgate-route'), /^policy="auto:cost", model="small"/)
  t.equal(data.object, 'text_completion')
  t.same(data.choices.map(({ index }) => index), [0, 1])
  t.match(await upstream.nextRequest(), { path: '/v1/chat/completions', body: { model: 'up-small' } })
  let text = ''
  for await (const chunk of await client.completions.create({ model: 'auto', prompt: 'One', stream: true })) {
    text += chunk.choices[0]?.text ?? ''
  }
  t.ok(text)
  t.match(await post('/completions', { model: 'auto', prompt: 'One', echo: true }), {
    status: 400, body: { error: { param: 'echo' } }
  })
  t.match(await post('/completions', { model: 'auto:none', prompt: 'One' }), { status: 404 })
})

t.test('the dry run has five rows and one sentence, and all rows where models are listed', async t => {
  const { post } = await start(t, { copies: 9 })
  const { body } = await post('/routing/decisions', { model: 'auto:cost', messages })
  t.equal(body.candidates.length, 5)
  t.match(body, { omitted: 7, saved_usd: Number })
  t.match(body.summary, /^auto:cost chooses \S+ as the cheapest that is good enough for \w+, with quality 0\.\d\d at about \$\d[^.]*\.\d+, \$\d\S+ less than \S+ with quality 0\.\d\d; 10 other models could answer, 1 cannot\.$/)
  for (const { quality } of body.candidates) t.equal(quality, Number(quality?.toFixed(2)), 'two digits')
  t.equal((await post('/routing/decisions', { model: 'auto', messages, candidates: ['*'] })).body.candidates.length, 12)
})

t.test('the dry run refuses what the request would be refused for', async t => {
  const { post } = await start(t)
  const wrong: [object, string][] = [
    [{ top_logprobs: 3 }, 'top_logprobs'], [{ stream_options: { include_usage: true } }, 'stream_options'], [{ min_tokens: -1 }, 'min_tokens'],
    [{ model: 'small', routing: { cost_quality: 1 } }, 'routing']
  ]
  for (const [more, param] of wrong) {
    const asked = { model: 'auto', messages, ...more }
    const [real, dry] = await Promise.all([post('/chat/completions', asked), post('/routing/decisions', asked)])
    t.match(real, { status: 400, body: { error: { param } } })
    t.strictSame(dry.body, real.body)
  }
  t.match(await post('/routing/decisions', { model: 'small', messages }), {
    status: 400, body: { error: { param: 'model', message: /Only requests to `auto`/ } }
  })
})

t.test('the dry run knows the credit', async t => {
  const { post } = await start(t)
  const asked = { model: 'auto:quality', messages, max_tokens: 100_000, n: 8 }
  const real = await post('/chat/completions', asked)
  t.equal(real.headers.get('x-tollgate-model'), 'small', JSON.stringify(real.body))
  t.equal((await post('/routing/decisions', asked)).body.model, 'small')
})

t.test('a restricted key sees its own models only: in decisions, in refusals and in headers', async t => {
  const { app, post } = await start(t)
  const { key } = await app.keys.create({ label: 'one', account: 'default', models: ['small'] })
  const headers = { authorization: `Bearer ${key}` }
  for (const candidates of [undefined, ['*'], ['small', 'film']]) {
    const answer = await post('/routing/decisions', { model: 'auto:quality', messages, candidates }, headers)
    t.notMatch(JSON.stringify(answer.body), candidates?.includes('film') === true ? /large/ : /large|film/)
  }
  const refused = await post('/chat/completions', { model: 'auto', messages, max_tokens: 200_000 }, headers)
  t.equal(refused.status, 400)
  t.notMatch(refused.body.error.message, /large|film/)
  const listed = await post('/chat/completions', { model: 'auto', messages, routing: { models: ['large'] } }, headers)
  t.match(listed.body.error.message, /`large` is not available here/, 'as a model that does not exist')
  const answer = await post('/chat/completions', { model: 'auto:quality', messages }, headers)
  t.match(answer.headers.get('x-tollgate-route'), /model="small".*best="small"/)
})

t.test('tollgate route explain asks the running gateway, as its key', async t => {
  const { url, key } = await start(t)
  const address = url.replace(/\/v1$/, '')
  const run = async (env: NodeJS.ProcessEnv, ...args: string[]) => {
    const [out, err] = [createText(), createText()]
    const terminal = { stdout: out.stream, stderr: err.stream, env, serve: async () => {} }
    const code = await runCommandLine(['route', 'explain', 'How high is K2?', ...args], terminal)
    return { code, out: out.text(), err: err.text() }
  }
  const asked = await run({ TOLLGATE_KEY: key }, '--url', address, '--policy', 'auto:cost')
  t.match(asked, { code: 0, out: /^auto:cost chooses small as [^]*large/, err: '' })
  const { port } = new URL(address)
  t.match(await run({ PORT: port }, '--key', key, '--json'), { code: 0, out: /"object": "routing.decision"/ })
  t.match(await run({}, '--url', address), { code: 1, err: /Give an API key of the gateway/ })
  t.match(await run({}, '--url', address, '--key', 'sk-wrong'), { code: 1, err: /answers 401: / })
  t.match(await run({}, '--url', 'http://127.0.0.1:1', '--key', key), { code: 1, err: /No gateway answers at/ })
})

function createText () {
  const pieces: string[] = []
  const stream = new Writable({
    write (piece, _encoding, done) {
      pieces.push(String(piece))
      done()
    }
  })
  return { stream, text: () => pieces.join('') }
}
