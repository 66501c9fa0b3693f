import t, { type Test } from 'tap'
import { request } from 'undici'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { pricedFieldsOf } from '../../../services/config/catalogue/priced-fields.ts'
import type { ModelConfig, Price, ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { dialects } from '../../../services/providers/openai/dialects.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { refusal, reply, startUpstream, type Completion } from '../../servers/upstream.ts'

// What a client may make a provider do is what is held: other fields are priced or refused.

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const messages = [{ role: 'user', content: 'Hi' }]

/** 1 µ$ per token in and 4 µ$ out; flex at half of it, priority at twice. */
const price: Price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
const serviceTiers = [
  { name: 'flex', inputPico: 500_000, outputPico: 2_000_000 },
  { name: 'priority', inputPico: 2_000_000, outputPico: 8_000_000 }
]
const usage = { prompt: 10, completion: 10 }

interface Offer {
  id: string
  model?: Partial<ModelConfig>
  provider?: Partial<ProviderConfig>
  /** Its name at the provider. */
  name?: string
}

/** A gateway with models of some providers; each is `name` at its own provider. */
async function open (t: Test, offers: Offer[], env: NodeJS.ProcessEnv = {}): Promise<Gateway> {
  const made = offers.map(({ id, model, provider, name = 'some-model' }) => {
    const at = providerAt(upstream.url, { id: `at-${id}`, ...provider })
    const deployments = [{ provider: at.id, model: name, weight: 1, priority: 0 }]
    const config = configFor(at, { id, deployments, price, maxOutput: 100, contextWindow: null, ...model })
    return { at, models: config.models }
  })
  const config = {
    ...configFor(providerAt(upstream.url)),
    providers: made.map(({ at }) => at),
    models: made.flatMap(({ models }) => models)
  }
  return await startGateway(t, { config, env: { TOLLGATE_STARTING_CREDIT: '10', ...env } })
}

async function post ({ url, headers }: Gateway, body: object, path = '/chat/completions', more: object = {}) {
  const before = upstream.requests.length
  const answer = await request(url + path, {
    method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ messages, ...body })
  })
  const text = await answer.body.text()
  const error = answer.statusCode === 200 ? null : JSON.parse(text).error
  return {
    status: answer.statusCode,
    error,
    cost: answer.headers['x-tollgate-cost'],
    text,
    seen: upstream.requests.slice(before)
  }
}

/** Names of fields that stand in the answer of each choice of tier. */
const servedAt = (tier: string) => reply({ usage }, {
  completion: (answer: Completion) => ({ ...answer, service_tier: tier }),
  chunks: chunks => chunks.map(chunk => ({ ...chunk, service_tier: tier }))
})

async function spentNano ({ app }: Gateway): Promise<number> {
  await app.ledger.flush()
  const [row] = await app.store.all<{ spent: number }>('select sum(spent) as spent from account')
  return Number(row?.spent)
}

const all = await open(t, Object.keys(dialects).map(dialect => ({ id: dialect, provider: { dialect } })))

for (const dialect of Object.keys(dialects)) {
  t.test(`${dialect}: each field of its table is refused by name, and its harmless values pass`, async t => {
    upstream.always(reply({ usage }))
    for (const { name, isHarmless } of pricedFieldsOf(dialect)) {
      const value = ['x', { a: 1 }, true, 5].find(value => !isHarmless(value))
      // Members of a container that stand for fields of the request itself are tested below.
      const listed = ['model', 'messages', 'prompt', 'tools', 'functions', 'modalities', 'audio', 'prediction', 'n', 'best_of']
      if (value === undefined || listed.includes(name) || name === 'fallbacks') continue
      // A search that is only offered is left out: test/contract/offered-tools.test.ts.
      if (name === 'web_search_options') continue
      const special: Record<string, unknown> = { service_tier: 'priority' }
      const body = { model: dialect, [name]: special[name] ?? value }
      for (const stream of [false, true]) {
        const refused = await post(all, { ...body, stream })
        t.match(refused, { status: 400, error: { param: name, type: 'invalid_request_error' }, seen: [] }, name)
      }
      const legacy = await post(all, { ...body, messages: undefined, prompt: 'Hi' }, '/completions')
      t.match(legacy, { status: 400, error: { param: name } }, `legacy: ${name}`)
      const empty = await post(all, { model: dialect, [name]: null })
      t.equal(empty.status, 200, `${name}: null`)
      const camel = name.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
      if (camel === name) continue
      t.equal((await post(all, { model: dialect, [camel]: special[name] ?? value })).status, 400, camel)
    }
    const plain = await post(all, { model: dialect, service_tier: 'auto', top_k: 5, metadata: { a: 'b' } })
    t.equal(plain.status, 200)
  })
}

t.test('the members of a container count as if they stood outside', async t => {
  for (const inner of [{ model: 'dear' }, { models: ['dear'] }, { n: 5 }, { tools: [{ type: 'web_search' }] }, { service_tier: 'flex' }]) {
    for (const container of ['extra_body', 'parameters']) {
      const [name] = Object.keys(inner)
      t.match(await post(all, { model: 'compatible', [container]: inner }),
        { status: 400, error: { param: `${container}.${name}` }, seen: [] })
    }
  }
  const thoughts = { google: { thinking_config: { thinking_budget: 20 } } }
  t.match(await post(all, { model: 'gemini', extra_body: thoughts }), { status: 200, seen: [{ body: { extra_body: thoughts } }] })
})

t.test('tools that a provider runs itself are refused', async t => {
  for (const type of ['web_search', 'code_interpreter', 'file_search', 'openrouter:web_search', 'builtin_function']) {
    t.match(await post(all, { model: 'openai', tools: [{ type }] }), { status: 400, error: { param: 'tools[0].type' }, seen: [] })
  }
  for (const body of [{ tools: 5 }, { messages: 5 }, { messages, prompt: ['a', 'b'] }, { modalities: ['audio'] }]) {
    t.match(await post(all, { model: 'groq', messages: undefined, prompt: 'Hi', ...body }, '/completions'), { status: 400, seen: [] })
  }
})

t.test('a service tier is charged at its own price, by what the answer says', async t => {
  const gateway = await open(t, [{ id: 'm', model: { price: { ...price, serviceTiers } }, provider: { dialect: 'openai' } }])
  const cases: [string | undefined, string, number][] = [
    [undefined, 'default', 50], ['auto', 'default', 50], ['flex', 'flex', 25], ['priority', 'priority', 100],
    ['fast', 'priority', 100], ['priority', 'default', 50], ['flex', 'unheard-of', 25], ['auto', 'priority', 100]
  ]
  for (const [tier, served, micro] of cases) {
    for (const stream of [false, true]) {
      upstream.always(servedAt(served))
      const before = await spentNano(gateway)
      const answer = await post(gateway, { model: 'm', service_tier: tier, stream, max_tokens: 50 })
      t.match(answer, { status: 200, seen: [{ body: { service_tier: tier } }] })
      t.equal(await spentNano(gateway) - before, micro * 1000, `${tier} served as ${served}`)
    }
  }
  upstream.always(reply({ usage }, { completion: ({ service_tier: _, ...answer }) => answer }))
  t.equal((await post(gateway, { model: 'm', service_tier: 'flex' })).cost, '0.000025', 'nothing said: the one asked for')
  t.match(await post(gateway, { model: 'm', service_tier: 'scale' }), {
    status: 400, error: { param: 'service_tier', code: 'parameter_not_priced', message: /service_tiers: \[\{ name: scale, … \}\]/ }
  })
})

t.test('the dearer of two tiers is held', async t => {
  const gateway = await open(t, [
    { id: 'm', model: { price: { ...price, serviceTiers } }, provider: { dialect: 'openai' } }
  ], { TOLLGATE_STARTING_CREDIT: '0.0006' })
  upstream.always(reply({ usage: { prompt: 1, completion: 1 } }))
  t.equal((await post(gateway, { model: 'm', max_tokens: 50 })).status, 200)
  t.equal((await post(gateway, { model: 'm', max_tokens: 50, service_tier: 'priority' })).status, 402)
})

t.test('searches are charged as counted, else the most', async t => {
  const searching = { ...price, searchNano: 5_000_000, maxSearches: 3 }
  const gateway = await open(t, [
    { id: 'openai', model: { price: searching }, provider: { dialect: 'openai' } },
    { id: 'router', model: { price: searching }, provider: { dialect: 'openrouter' } },
    { id: 'sonar', model: { price: searching }, provider: { dialect: 'perplexity' }, name: 'sonar' },
    { id: 'unpriced', provider: { dialect: 'perplexity' }, name: 'sonar' }
  ])
  upstream.always(reply({ usage }))
  t.equal((await post(gateway, { model: 'openai' })).cost, '0.00005')
  t.equal((await post(gateway, { model: 'openai', web_search_options: {} })).cost, '0.01505')
  t.equal((await post(gateway, { model: 'sonar' })).cost, '0.01505')
  const counted = (count: number) => reply({ usage }, {
    completion: answer => {
      const details = { server_tool_use_details: { web_search_requests: count } }
      return { ...answer, usage: { ...Object(answer.usage), ...details } }
    }
  })
  upstream.always(counted(2))
  t.equal((await post(gateway, { model: 'router', plugins: [{ id: 'web' }] })).cost, '0.01005')
  upstream.always(counted(1000))
  t.equal((await post(gateway, { model: 'router', plugins: [{ id: 'web' }], max_tokens: 50 })).cost?.slice(0, 5), '0.215', 'the hold')
  t.match(await post(gateway, { model: 'router', plugins: [{ id: 'fusion' }] }), { status: 400, error: { param: 'plugins' } })
  t.match(await post(gateway, { model: 'unpriced' }), { status: 400, error: { param: 'model', message: /search: …/ }, seen: [] })
})

t.test('what the operator allows passes, and another deployment takes what one refuses', async t => {
  const routes = { provider: { order: ['dear'] } }
  const gateway = await open(t, [
    { id: 'm', provider: { dialect: 'openrouter', allowFields: ['provider', 'cache_control'] } },
    { id: 'n', provider: { dialect: 'openrouter' } }
  ])
  upstream.always(reply({ usage }))
  t.match(await post(gateway, { model: 'm', ...routes }), { status: 200, seen: [{ body: routes }] })
  t.match(await post(gateway, { model: 'n', ...routes, fallbacks: ['m'] }), { status: 400, error: { param: 'provider' } })
  const cached = (ttl: string) => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl } }] }]
  })
  t.match(await post(gateway, { model: 'n', ...cached('1h') }), { status: 400, error: { param: 'cache_control.ttl' } })
  t.equal((await post(gateway, { model: 'n', ...cached('5m') })).status, 200)
  t.equal((await post(gateway, { model: 'm', ...cached('1h') })).status, 200)

  const two = [
    providerAt(upstream.url, { id: 'a', dialect: 'openrouter' }), providerAt(upstream.url, { id: 'b', dialect: 'vllm' })
  ]
  const deployments = two.map(({ id }, priority) => ({ provider: id, model: `at-${id}`, weight: 1, priority }))
  const both = await startGateway(t, {
    config: { ...configFor(two[0]!, { id: 'm', price, deployments }), providers: two }
  })
  t.match(await post(both, { model: 'm', ...routes }), { status: 200, seen: [{ body: { model: 'at-b' } }] })
  t.match(await post(both, { model: 'm' }), { status: 200, seen: [{ body: { model: 'at-a' } }] })
})

t.test('an answer with audio needs a price of audio', async t => {
  const audio = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } }
  const gateway = await open(t, [
    { id: 'text' }, { id: 'spoken', model: { price: { ...price, audioOutputPico: 9_000_000 } } },
    { id: 'free', model: { price: { ...emptyPrice, inputPico: 0, outputPico: 0 } } }
  ])
  upstream.always(reply({ usage }))
  t.match(await post(gateway, { model: 'text', ...audio }), { status: 400, error: { param: 'modalities' }, seen: [] })
  t.equal((await post(gateway, { model: 'spoken', ...audio })).status, 200)
  t.equal((await post(gateway, { model: 'free', ...audio })).status, 200)
  t.match(await post(gateway, { model: 'text', modalities: ['image'] }), { status: 400, error: { param: 'modalities[0]' } })
})

t.test('the list of models of a key cannot be gone round', async t => {
  const gateway = await open(t, ['openrouter', 'compatible', 'groq', 'sglang', 'llamacpp', 'litellm'].flatMap(dialect => [
    { id: `${dialect}/cheap`, provider: { id: `${dialect}-cheap`, dialect }, name: 'cheap' },
    { id: `${dialect}/dear`, provider: { id: `${dialect}-dear`, dialect }, name: 'dear' }
  ]), { TOLLGATE_ADMIN_KEY: 'admin-key-0123456789' })
  const accounts = await gateway.app.store.all<{ id: string }>('select id from account')
  const made = await gateway.app.inject({
    method: 'POST',
    url: '/admin/keys',
    headers: { authorization: 'Bearer admin-key-0123456789' },
    payload: { account: accounts[0]?.id, models: ['*/cheap'] }
  })
  const bound = { ...gateway, headers: { ...gateway.headers, authorization: `Bearer ${made.json().token ?? made.json().key}` } }
  upstream.always(reply({ usage }))
  const dear = [
    { model: 'X/dear' }, { models: ['dear'] }, { fallbacks: ['X/dear'] }, { route: 'dear' }, { preset: 'dear' }, { Model: 'dear' },
    { provider: { order: ['dear'] } }, { plugins: [{ id: 'auto-router', model: 'dear' }] }, { extra_body: { model: 'dear' } },
    { extra_body: { models: ['dear'] } }, { compound_custom: { models: { answering_model: 'dear' } } }, { lora_path: 'dear' },
    { lora: [{ id: 1, scale: 1 }] }, { context_window_fallbacks: [{ cheap: ['dear'] }] }, { user_config: { model_list: [] } },
    { api_base: 'http://dear' }, { modelſ: ['dear'] }
  ]
  for (const dialect of ['openrouter', 'compatible', 'groq', 'sglang', 'llamacpp', 'litellm']) {
    for (const body of dear) {
      for (const [path, asked] of [['/chat/completions', {}], ['/completions', { messages: undefined, prompt: 'Hi' }]] as const) {
        const text = JSON.stringify({ model: `${dialect}/cheap`, ...body }).replaceAll('X/', `${dialect}/`)
        const answer = await post(bound, { ...JSON.parse(text), ...asked }, path)
        t.ok([200, 400, 404].includes(answer.status), text)
        t.ok(answer.seen.every(({ body }) => body?.model === 'cheap'), text)
        // What passes is nothing that this server reads.
        const unknown = dialect === 'groq' || dialect === 'sglang' || dialect === 'llamacpp' || dialect === 'openrouter'
        if (!unknown) t.notOk(answer.seen.some(({ body }) => JSON.stringify(body).includes('dear')), text)
      }
    }
    // Only now is a fallback called for.
    upstream.always(refusal(503))
    const { seen: called } = await post(bound, { model: `${dialect}/cheap`, fallbacks: [`${dialect}/dear`] })
    t.ok(called.length > 0 && called.every(({ body }) => body?.model === 'cheap'), `${dialect}: no dear fallback`)
    upstream.always(reply({ usage }))
    const headers = { 'x-model': 'dear', 'x-openrouter-models': 'dear', 'x-portkey-config': '{}', 'openai-organization': 'dear' }
    const { seen } = await post(bound, { model: `${dialect}/cheap` }, '/chat/completions', headers)
    t.notOk(Object.keys(seen[0]?.headers ?? {}).some(name => name.startsWith('x-') || name.startsWith('openai-')))
  }
})
