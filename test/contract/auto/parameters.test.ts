import t, { type Test } from 'tap'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { refusal, reply, startUpstream } from '../../servers/upstream.ts'

const messages = [{ role: 'user', content: 'Explain how a combustion engine works, step by step.' }]
const tool = { type: 'function', function: { name: 'find', parameters: { type: 'object', properties: {} } } }

/** Parameters, each with two providers: the first drops or refuses it for some or all of its models. */
const cases: { asked: Record<string, unknown>, keys: string[] }[] = [
  { asked: { temperature: 0.2 }, keys: ['OPENAI', 'GROQ'] },
  { asked: { logprobs: true, top_logprobs: 3 }, keys: ['GROQ', 'OPENAI'] },
  { asked: { logit_bias: { 50: 10 } }, keys: ['MISTRAL', 'OPENAI'] },
  { asked: { n: 3 }, keys: ['GROQ', 'TOGETHER'] },
  { asked: { reasoning_effort: 'high' }, keys: ['MISTRAL', 'OPENAI'] },
  { asked: { tools: [tool], parallel_tool_calls: false }, keys: ['PERPLEXITY', 'OPENAI'] },
  { asked: { seed: 7 }, keys: ['PERPLEXITY', 'XAI'] },
  { asked: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } } }, keys: ['DEEPSEEK', 'OPENAI'] }
]

async function start (t: Test, keys: readonly string[]) {
  const down = new Set<string>()
  const upstream = await startUpstream({
    route: ({ method, path }) => method === 'POST' && !down.has(path.split('/')[2] ?? '') ? reply() : refusal(503)
  })
  t.teardown(() => upstream.close())
  const env = Object.fromEntries(keys.flatMap(key => [[`${key}_API_KEY`, 'sk-test'], [`${key}_BASE_URL`, `${upstream.url}/${key}`]]))
  const gateway = await startGateway(t, { config: configFromEnvironment(env), env })
  return { ...gateway, upstream, down }
}

for (const { asked, keys } of cases) {
  for (const policy of ['auto', 'auto:cost', 'auto:quality', 'auto:speed']) {
    t.test(`${policy} with ${JSON.stringify(asked).slice(0, 60)} goes to a model that takes it`, async t => {
      const { url, headers, upstream } = await start(t, keys)
      const body = JSON.stringify({ model: policy, messages, ...asked })
      const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
      t.equal(response.status, 200, await response.text())
      t.equal(response.headers.get('x-tollgate-dropped-params'), null)
      const sent = upstream.requests.findLast(({ method }) => method === 'POST')
      t.match(sent?.body, asked)
    })
  }
}

t.test('a parameter that no model takes rules out none', async t => {
  const { url, headers } = await start(t, ['GROQ'])
  const body = JSON.stringify({ model: 'auto', messages, logit_bias: { 50: 10 } })
  const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-tollgate-dropped-params'), 'logit_bias')
})

const custom = { type: 'custom', custom: { name: 'shell' } }
const part = (more: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }, more] }] })

/** What the first provider cannot be asked at all, although its models are predicted to be better. */
const untranslatable: { asked: Record<string, unknown>, keys: string[], dropped?: string }[] = [
  { asked: { tools: [custom] }, keys: ['ANTHROPIC', 'OPENAI'] },
  { asked: { tools: [tool, custom] }, keys: ['GEMINI', 'GROQ'] },
  { asked: { functions: [{ name: 'find' }] }, keys: ['ANTHROPIC', 'OPENAI'] },
  { asked: part({ type: 'file', file: { file_id: 'file-1' } }), keys: ['ANTHROPIC', 'OPENAI'] },
  { asked: { messages: [{ role: 'system', content: 'Explain how a combustion engine works.' }] }, keys: ['ANTHROPIC', 'OPENAI'] },
  { asked: { logprobs: true }, keys: ['ANTHROPIC', 'GROQ'], dropped: 'logprobs' },
  { asked: { service_tier: 'priority' }, keys: ['OPENAI', 'MISTRAL'], dropped: 'service_tier' }
]

for (const { asked, keys, dropped = null } of untranslatable) {
  t.test(`${JSON.stringify(asked).slice(0, 90)} is answered by ${keys.at(-1)}, because ${keys[0]} would refuse it`, async t => {
    const { url, headers } = await start(t, keys)
    const body = JSON.stringify({ model: 'auto:quality', messages, ...asked })
    const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
    t.equal(response.status, 200, await response.text())
    t.equal(response.headers.get('x-tollgate-provider'), keys.at(-1)?.toLowerCase())
    t.equal(response.headers.get('x-tollgate-dropped-params'), dropped)
  })
}

const usual = [
  { modalities: ['text'] }, { service_tier: 'auto' }, { service_tier: 'default' }, { verbosity: 'medium' }, { temperature: 1 },
  { logprobs: false }, { logit_bias: {} }, { tools: [] }, { stop: [] }, { response_format: { type: 'text' } }
]

t.test('a parameter with its usual value changes no choice', async t => {
  const { app } = await start(t, ['GROQ', 'OPENAI', 'MISTRAL'])
  const decide = (more: object) => app.router.decide({
    request: { model: 'auto', messages: [{ role: 'user', content: 'Explain how a combustion engine works.' }], ...more },
    key: 'key',
    mayUse: () => true,
    conversation: null,
    candidates: null,
    availableNano: null
  }).candidates.map(({ id }) => id)
  const plain = decide({})
  for (const more of usual) t.strictSame(decide(more), plain, JSON.stringify(more))
})

t.test('when the only provider that takes a parameter fails, another one answers without it', async t => {
  const { url, headers, down } = await start(t, ['GROQ', 'TOGETHER'])
  const body = JSON.stringify({ model: 'auto', messages, logprobs: true })
  const ask = () => fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
  t.equal((await ask()).headers.get('x-tollgate-provider'), 'together')
  down.add('TOGETHER')
  const second = await ask()
  t.equal(second.status, 200)
  t.equal(second.headers.get('x-tollgate-provider'), 'groq')
  t.equal(second.headers.get('x-tollgate-dropped-params'), 'logprobs')
})

t.test('a call is sent with the output limit that keeps the ceiling of its policy', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const config = configFor(providerAt(upstream.url), {
    price: { ...emptyPrice, inputPico: 3_000_000, outputPico: 15_000_000 },
    contextWindow: 200_000,
    maxOutput: 64_000
  })
  const policy = { id: 'auto', models: ['*'], costWeight: null, latencyWeight: null, ceilingNano: 20_000_000 }
  const { url, headers } = await startGateway(t, { config: { ...config, policies: [policy] } })
  upstream.always(async exchange => {
    const { max_tokens: most = 9000 } = exchange.request.body ?? {}
    await reply({ usage: { prompt: 40, completion: Number(most) } })(exchange)
  })
  for (const max of [undefined, 6000]) {
    const body = JSON.stringify({
      model: 'auto', max_tokens: max, messages: [{ role: 'user', content: 'Write an essay of at least 6000 words.' }]
    })
    const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
    t.equal(response.status, 200, await response.text())
    const limit = Number(response.headers.get('x-tollgate-max-tokens'))
    t.ok(limit > 1000 && limit < 1334, `${limit} tokens`)
    t.ok(Number(response.headers.get('x-tollgate-cost')) <= 0.02)
    t.ok(Number(response.headers.get('x-tollgate-cost')) > 0.015)
  }
})
