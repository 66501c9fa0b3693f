import { request } from 'undici'
import t, { type Test } from 'tap'
import { JsonText } from '../../services/shared/json.ts'
import { createProviders } from '../../services/providers/registry.ts'
import { dialects } from '../../services/providers/openai/dialects.ts'
import { Deadlines } from '../../services/shared/timers.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { document, modelList, reply, scripts, startUpstream } from '../servers/upstream.ts'
import type { Completion, Script } from '../servers/upstream.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.close())

const models = [
  'some-model', 'gpt-5.1', 'o4-mini', 'gpt-4o', 'gpt-5-chat-latest', 'deepseek-reasoner', 'grok-4.3',
  'grok-4-fast-non-reasoning'
]
const oldAzure = upstream.url.replace(/\/v1$/, '/openai/deployments/d?api-version=2024-10-21')
const providers = [
  ...Object.keys(dialects).map(dialect => providerAt(upstream.url, { id: dialect, dialect })),
  providerAt(oldAzure, { id: 'azure-old', dialect: 'azure' })
]

/** A gateway with one server under every dialect: `groq:some-model` is `some-model` at `groq`. */
const gateway = await startGateway(t, {
  config: {
    ...configFor(providerAt(upstream.url)),
    providers,
    models: providers.flatMap(provider => models.flatMap(model => {
      const deployments = [{ provider: provider.id, model, weight: 1, priority: 0 }]
      return configFor(provider, { id: `${provider.id}:${model}`, deployments }).models
    }))
  }
})

const messages = [{ role: 'user', content: 'Hi' }]

async function post (dialect: string, body: object, model = 'some-model') {
  const answer = await request(`${gateway.url}/chat/completions`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: `${dialect}:${model}`, messages, ...body })
  })
  const text = await answer.body.text()
  const events = text.split('\n\n').filter(block => block.startsWith('data: {')).map(block => JSON.parse(block.slice(6)))
  return {
    status: answer.statusCode,
    dropped: answer.headers['x-tollgate-dropped-params'],
    body: text.startsWith('{') ? JSON.parse(text) : null,
    events,
    text
  }
}

/** The request that the server gets, and the parameters reported as dropped. */
async function sent (dialect: string, body: object, model?: string) {
  const { dropped } = await post(dialect, body, model)
  const seen = upstream.requests.at(-1)
  return { body: seen?.body ?? {}, dropped, path: seen?.path, headers: seen?.headers ?? {} }
}

/** The answer, whole and streamed, after an edit of each choice of the server. */
async function answered (
  t: Test, dialect: string, edit: (said: Completion) => Completion, body: object = {}
) {
  upstream.script(reply({}, { completion: edit }), reply({}, { chunks: chunks => chunks.map(edit) }))
  const whole = await post(dialect, body)
  const streamed = await post(dialect, { stream: true, ...body })
  t.match([whole.status, streamed.status], [200, 200])
  t.match(streamed.text, 'data: [DONE]')
  return { whole: whole.body, streamed: streamed.events }
}

/** The same with other members in each message. */
const saying = (change: (said: Record<string, unknown>) => object) => (body: Completion): Completion => ({
  ...body,
  choices: body.choices.map(choice => {
    const key = 'delta' in choice ? 'delta' : 'message'
    const said = choice[key]
    return typeof said === 'object' && said !== null ? { ...choice, [key]: change({ ...said }) } : choice
  })
})

t.test('OpenAI, Azure: reasoning models get no sampling parameters, and developer instead of system messages', async t => {
  const system = { messages: [{ role: 'system', content: 'Be brief.' }, ...messages] }
  const sampling = {
    temperature: 0.5, top_p: 0.5, logprobs: true, top_logprobs: 2, presence_penalty: 1, frequency_penalty: 1
  }
  for (const dialect of ['openai', 'azure']) {
    const reasoning = await sent(dialect, { ...system, ...sampling, max_tokens: 9 }, 'gpt-5.1')
    t.same(reasoning.body, {
      model: 'gpt-5.1',
      messages: [{ role: 'developer', content: 'Be brief.' }, ...messages],
      max_completion_tokens: 9
    }, dialect)
    t.equal(reasoning.dropped, 'presence_penalty, frequency_penalty, temperature, top_p, logprobs, top_logprobs')
    const resting = await sent(dialect, { ...sampling, reasoning_effort: 'none' }, 'gpt-5.1')
    t.match(resting.body, { temperature: 0.5, top_p: 0.5, logprobs: true, presence_penalty: undefined })
    const neutral = await sent(dialect, { temperature: 1, top_p: 1, frequency_penalty: 0 }, 'o4-mini')
    t.match(neutral.body, { temperature: 1, top_p: 1, frequency_penalty: 0 })
    t.equal(neutral.dropped, undefined)
    for (const model of ['gpt-4o', 'gpt-5-chat-latest', 'some-model']) {
      const plain = await sent(dialect, { ...system, ...sampling }, model)
      t.match(plain.body, { ...sampling, ...system }, model)
    }
  }
})

t.test('Azure: the api-key header, and api-version unless the URL has one', async t => {
  const seen = await sent('azure', {})
  t.match(seen, { path: '/v1/chat/completions?api-version=v1', headers: { 'api-key': 'sk-upstream-secret' } })
  t.equal(seen.headers.authorization, undefined)
  t.equal((await sent('azure-old', {})).path, '/openai/deployments/d/chat/completions?api-version=2024-10-21')
  upstream.script(scripts.azure({ text: 'Hi' }))
  t.match(await post('azure', { stream: true }), { status: 200, text: /\[DONE\]/ })
  t.equal(gateway.lines.at(-1)?.used, 'some-model-2025-08-07', 'the empty name in the opening chunk is none')
})

t.test('Mistral: field names, tool choice and prefill', async t => {
  const { body, dropped } = await sent('mistral', {
    messages: [{ role: 'developer', content: 'x' }, ...messages, { role: 'assistant', content: 'Once' }],
    tool_choice: 'required',
    tools: [{ type: 'function', function: { name: 'f' } }],
    seed: 1,
    max_completion_tokens: 5,
    user: 'u',
    metadata: { a: 'b' },
    parallel_tool_calls: false
  })
  t.same(body, {
    model: 'some-model',
    messages: [{ role: 'system', content: 'x' }, ...messages, { role: 'assistant', content: 'Once', prefix: true }],
    tool_choice: 'any',
    tools: [{ type: 'function', function: { name: 'f' } }],
    random_seed: 1,
    max_tokens: 5,
    metadata: { a: 'b' },
    parallel_tool_calls: false
  })
  t.equal(dropped, 'user')
  t.equal((await sent('mistral', { tool_choice: 'auto' })).body.tool_choice, 'auto')
})

t.test('Mistral: content in parts is text, thinking in it is reasoning', async t => {
  const parts = saying(({ content, ...said }) => ({
    ...said,
    content: typeof content === 'string' && content !== ''
      ? [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm ' }] }, { type: 'text', text: content }]
      : content
  }))
  const { whole, streamed } = await answered(t, 'mistral', parts)
  const text = 'Hi there! Tell me what you’d like to do.'
  t.match(whole.choices[0].message, { content: text, reasoning_content: 'hm ' })
  t.equal(streamed.map(event => event.choices[0]?.delta.content ?? '').join(''), text)
  t.ok(streamed.filter(event => event.choices[0]?.delta.reasoning_content === 'hm ').length > 1)
})

for (const dialect of ['openrouter', 'groq', 'together', 'vllm', 'sglang', 'llamacpp', 'ollama', 'lmstudio']) {
  t.test(`${dialect}: thoughts become reasoning_content`, async t => {
    const thinking = saying(said => ({ ...said, reasoning: 'hm', reasoning_details: [] }))
    const { whole, streamed } = await answered(t, dialect, thinking)
    t.match(whole.choices[0].message, { reasoning_content: 'hm', reasoning_details: [], reasoning: undefined })
    const deltas = streamed.flatMap(event => event.choices).map(choice => choice.delta)
    t.ok(deltas.every(delta => delta.reasoning_content === 'hm' && !('reasoning' in delta)))
    const { whole: plain } = await answered(t, dialect, saying(said => ({ ...said, reasoning_content: 'as it is' })))
    t.equal(plain.choices[0].message.reasoning_content, 'as it is')
  })
}

for (const dialect of ['deepseek', 'mistral', 'together', 'vllm', 'sglang', 'llamacpp', 'ollama', 'lmstudio']) {
  t.test(`${dialect}: developer messages become system messages`, async t => {
    const { body } = await sent(dialect, { messages: [{ role: 'developer', content: 'x', name: 'n' }, ...messages] })
    const name = dialect === 'mistral' ? {} : { name: 'n' }
    t.same(body.messages, [{ role: 'system', content: 'x', ...name }, ...messages])
  })
}

for (const dialect of ['together', 'mistral', 'deepseek', 'ollama', 'lmstudio']) {
  t.test(`${dialect}: the output limit is max_tokens`, async t => {
    const { body } = await sent(dialect, { max_completion_tokens: 5 })
    t.same([body.max_tokens, 'max_completion_tokens' in body], [5, false])
  })
}

t.test('Groq: refused fields are dropped, usage is read from x_groq', async t => {
  const { body, dropped } = await sent('groq', { logprobs: true, top_logprobs: 1, logit_bias: { 1: 1 } })
  t.same(Object.keys(body), ['model', 'messages'])
  t.equal(dropped, 'logprobs, top_logprobs, logit_bias')
  upstream.script(scripts.groqUsage())
  await post('groq', { stream: true })
  t.match(gateway.lines.at(-1), { provider: 'groq', completionTokens: 377 })
})

const finishes: [string, string, string][] = [
  ['together', 'eos', 'stop'],
  ['mistral', 'model_length', 'length']
]
for (const [dialect, theirs, ours] of finishes) {
  t.test(`${dialect}: ${theirs} means ${ours}`, async t => {
    const script = reply({ finishReason: theirs })
    upstream.script(script, script)
    t.equal((await post(dialect, {})).body.choices[0].finish_reason, ours)
    const { events } = await post(dialect, { stream: true })
    t.same(events.map(event => event.choices[0]?.finish_reason).filter(Boolean), [ours])
  })
}

const failures = [
  ['mistral', 'error'], ['openrouter', 'error'], ['deepseek', 'insufficient_system_resource']
] as const
for (const [dialect, theirs] of failures) {
  t.test(`${dialect}: ${theirs} is a failure`, async t => {
    const script = reply({ finishReason: theirs })
    upstream.script(script, script)
    t.match(await post(dialect, {}), { status: 503, body: { error: { code: 'server_is_overloaded' } } })
    const { text, events } = await post(dialect, { stream: true })
    t.match(events.at(-1), { error: { code: 'server_is_overloaded' } })
    t.notMatch(text, '[DONE]')
  })
}

/** Where each dialect takes the name of a conversation. */
const hints: Record<string, { field?: string, header?: string }> = {
  openai: { field: 'prompt_cache_key' },
  azure: { field: 'prompt_cache_key' },
  'azure-old': { field: 'prompt_cache_key' },
  mistral: { field: 'prompt_cache_key' },
  cerebras: { field: 'prompt_cache_key' },
  moonshot: { field: 'prompt_cache_key' },
  openrouter: { field: 'session_id' },
  xai: { header: 'x-grok-conv-id' },
  fireworks: { header: 'x-session-affinity' }
}

t.test('a conversation that has a name gets it at the provider too, where there is a place for it', async t => {
  for (const { id } of providers) {
    const { field = '', header = '' } = hints[id] ?? {}
    const hintOf = async (headers: Record<string, string>, body: object = {}) => {
      await request(`${gateway.url}/chat/completions`, {
        method: 'POST',
        headers: { ...gateway.headers, ...headers },
        body: JSON.stringify({ model: `${id}:some-model`, messages, ...body })
      }).then(({ body }) => body.dump())
      const seen = upstream.requests.at(-1)
      const all = ['x-session-id', 'x-tollgate-conversation', ...header === 'x-session-affinity' ? [] : ['x-session-affinity']]
      t.strictSame(all.filter(name => seen?.headers[name] !== undefined), [], `${id}: no header of the client`)
      return field === '' ? seen?.headers[header] : seen?.body?.[field]
    }
    t.equal(await hintOf({}), undefined, `${id}: without a name`)
    const name = await hintOf({ 'x-session-id': 'Gespräch' })
    if (hints[id] === undefined) {
      t.equal(name, undefined, id)
      t.notMatch(upstream.requests.at(-1)?.body, { prompt_cache_key: /./ }, id)
      continue
    }
    t.match(name, /^[0-9a-f]{32}$/, id)
    t.equal(await hintOf({ 'x-session-affinity': 'Gespräch' }), name, `${id}: whatever header names it`)
    t.not(await hintOf({ 'x-session-id': 'another' }), name)
    const own =
      await hintOf({ 'x-session-id': 'Gespräch' }, { prompt_cache_key: 'mine', session_id: 'mine' })
    if (field === '') t.match(own, /^[0-9a-f]{32}$/, id)
    else t.equal(own, 'mine', `${id}: the client's own`)
  }
})

t.test('OpenAI: its own settings of the cache pass unchanged', async t => {
  const settings = { prompt_cache_key: 'k', prompt_cache_retention: '24h', prompt_cache_options: { mode: 'explicit', ttl: '30m' } }
  for (const dialect of ['openai', 'azure']) t.match((await sent(dialect, settings)).body, settings)
})

t.test('DeepSeek: cached tokens are read from prompt_cache_hit_tokens', async t => {
  const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, prompt_cache_hit_tokens: 4 }
  const { report } = await asked('deepseek', reply({}, { completion: body => ({ ...body, usage }) }))
  t.match(report.usage, { prompt: 9, completion: 1, cachedRead: 4 })
  const { dropped } = await sent('deepseek', { logprobs: true, temperature: 0 }, 'deepseek-reasoner')
  t.equal(dropped, 'logprobs')
})

const connected = createProviders(new Deadlines(), () => {})
connected.apply(providers)
t.teardown(() => connected.close())
const { signal } = new AbortController()

/** The provider's own report of an answer. */
async function asked (dialect: string, script: Script, stream = false) {
  upstream.script(script)
  const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }], stream }
  const call = { body: request, rawBody: JsonText.from(request), model: 'm', outputLimit: null, requestId: 'r', signal }
  const answer = await connected.get(dialect)?.chat?.(call)
  if (answer === undefined) throw new Error('no provider')
  if (answer.kind === 'bytes') await Array.fromAsync(answer.events)
  return answer
}

const priced: [string, object, number][] = [
  ['openrouter', { cost: 0.00014 }, 140_000],
  ['xai', { cost_in_usd_ticks: 37_756_000 }, 3_775_600]
]
for (const [dialect, cost, nano] of priced) {
  t.test(`${dialect}: the reported cost is charged`, async t => {
    const add = (body: Completion): Completion =>
      body.usage == null ? body : { ...body, usage: { ...body.usage, ...cost } }
    const whole = await asked(dialect, reply({}, { completion: add }))
    const streamed = await asked(dialect, reply({}, { chunks: chunks => chunks.map(add) }), true)
    const expected = { costNano: nano, prompt: 8 }
    t.match([whole.report.usage, streamed.report.usage], [expected, expected])
    const other = await asked('compatible', reply({}, { completion: add }))
    t.equal(other.report.usage?.costNano, undefined, 'another server means something else by it')
  })
}

for (const dialect of ['xai', 'gemini']) {
  t.test(`${dialect}: reasoning is part of the completion`, async t => {
    // The figures of xAI's documentation.
    const usage = {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 135,
      completion_tokens_details: { reasoning_tokens: 94 }
    }
    const edit = (body: Completion): Completion => body.usage == null ? body : { ...body, usage }
    const { whole, streamed } = await answered(t, dialect, edit, { stream_options: undefined })
    t.match(whole.usage, { completion_tokens: 103, total_tokens: 135 })
    t.ok(streamed.every(event => event.usage === undefined), 'hidden unless requested')
    const counted = gateway.lines.filter(line => line.provider === dialect && line.completionTokens === 103)
    t.equal(counted.length, 2)
    upstream.script(reply({}, { chunks: chunks => chunks.map(edit) }))
    const { events } = await post(dialect, { stream: true, stream_options: { include_usage: true } })
    t.equal(events.at(-1)?.usage.completion_tokens, 103)
  })
}

t.test('xAI: reasoning models get no penalties', async t => {
  const body = { presence_penalty: 1, temperature: 0.5 }
  t.equal((await sent('xai', body, 'grok-4.3')).dropped, 'presence_penalty')
  t.equal((await sent('xai', body, 'grok-4-fast-non-reasoning')).dropped, undefined)
})

t.test('Gemini-compatible: refused fields, model names, signatures unchanged', async t => {
  const { body, dropped } = await sent('gemini', { store: false, metadata: null, top_k: 3, temperature: 1 })
  t.same(Object.keys(body), ['model', 'messages', 'temperature'])
  t.equal(dropped, 'top_k, store')
  upstream.models(modelList(['models/gemini-3.5-flash', 'other']))
  t.same(await connected.get('gemini')?.models?.(signal), ['gemini-3.5-flash', 'other'])
  t.same(await connected.get('compatible')?.models?.(signal), ['models/gemini-3.5-flash', 'other'])

  const signed = { extra_content: { google: { thought_signature: 'c2ln' } } }
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, ...signed }
  const calling = saying(said => ({ ...said, tool_calls: [{ index: 0, ...call }] }))
  const { whole } = await answered(t, 'gemini', calling)
  t.match(whole.choices[0].message.tool_calls[0], signed)
  const back = [
    ...messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: '1' }
  ]
  t.same((await sent('gemini', { messages: back })).body.messages, back)
})

t.test('Ollama, LM Studio, llama.cpp: missing or partial usage is estimated, never zero', async t => {
  const halves = [undefined, {}, { completion_tokens: 5 }, { prompt_tokens: 5 }]
  for (const dialect of ['ollama', 'lmstudio', 'llamacpp', 'vllm', 'sglang', 'compatible']) {
    for (const usage of halves) {
      const { report } = await asked(dialect, reply({}, { completion: body => ({ ...body, usage }) }))
      t.equal(report.usage, null, `${dialect} ${JSON.stringify(usage)}`)
      t.match(report.delivered.text, 'Hi there!')
    }
  }
  const total = reply({}, { completion: body => ({ ...body, usage: { prompt_tokens: 5, total_tokens: 7 } }) })
  t.match((await asked('ollama', total)).report.usage, { prompt: 5, completion: 2 }, 'a total completes it')
})

const errors: [string, string, number, unknown, object][] = [
  ['Mistral', 'mistral', 422, { object: 'error', message: { detail: [{ loc: ['body', 'top_p'], msg: 'too high' }] } },
    { status: 400, message: 'body.top_p: too high' }],
  ['vLLM and SGLang', 'vllm', 400, { object: 'error', message: 'maximum context length', type: 'BadRequestError', code: 400 },
    { status: 400, message: 'maximum context length' }],
  ['FastAPI', 'sglang', 422, { detail: [{ loc: ['body', 'n'], msg: 'no' }, { loc: ['body'], msg: 'neither' }] },
    { status: 400, message: 'body.n: no; body: neither' }],
  ['Ollama', 'ollama', 400, { error: 'model is required' }, { status: 400, message: 'model is required' }],
  ['llama.cpp', 'llamacpp', 400, { error: { code: 400, message: 'bad grammar', type: 'invalid_request_error' } },
    { status: 400, message: 'bad grammar' }],
  ['LM Studio', 'lmstudio', 404, { error: { message: 'No models loaded' } }, { status: 404 }],
  ['xAI', 'xai', 400, { code: 'invalid argument', error: 'Incorrect API key provided: xa***zz.' },
    { status: 502, code: 'upstream_auth' }],
  ['Gemini', 'gemini', 400, [{ error: { code: 400, message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] } }],
    { status: 502, code: 'upstream_auth' }],
  ['OpenRouter', 'openrouter', 400, { error: { code: 400, message: 'Provider returned error', metadata: { raw: 'bad image' } } },
    { status: 400, message: 'Provider returned error bad image' }],
  ['OpenRouter, with status 200', 'openrouter', 200, { error: { code: 429, message: 'slow down' } },
    { status: 429, code: 'rate_limit_exceeded' }],
  ['DeepSeek', 'deepseek', 402, { error: { message: 'Insufficient Balance' } }, { status: 502, code: 'upstream_quota' }],
  ['Azure', 'azure', 400, { error: { code: 'content_filter', message: 'filtered', innererror: {} } },
    { status: 400, code: 'content_filter' }],
  ['Groq', 'groq', 498, { error: { message: 'flex capacity', code: 'capacity_exceeded' } }, { status: 503 }],
  ['Together', 'together', 429, { error: { message: 'x', type: 'dynamic_request_limited' } }, { status: 429 }]
]
for (const [name, dialect, status, body, expected] of errors) {
  t.test(`the errors of ${name}`, async t => {
    upstream.script(document(JSON.stringify(body), { status }))
    const answer = await post(dialect, {})
    t.match({ status: answer.status, ...answer.body.error }, expected)
    t.same(Object.keys(answer.body.error), ['message', 'type', 'param', 'code'])
  })
}

for (const dialect of Object.keys(dialects)) {
  t.test(`${dialect}: an ordinary conversation passes unchanged`, async t => {
    const before = [...messages, { role: 'assistant', content: 'Hello' }, ...messages]
    t.same((await sent(dialect, { messages: before, temperature: 0.5 })).body, {
      model: 'some-model', messages: before, temperature: 0.5
    })
    const { whole, streamed } = await answered(t, dialect, body => body)
    const text = streamed.map(event => event.choices[0]?.delta.content ?? '').join('')
    t.equal(text, whole.choices[0].message.content)
  })
}
