import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { readAsLangfuse } from '../../servers/langfuse.ts'
import { attributesOf, startCollector } from '../../servers/otlp-collector.ts'
import { refusal, reply, startUpstream } from '../../servers/upstream.ts'

const names: ReadonlySet<unknown> = new Set(Object.values(conventions))
const latest = { OTEL_SEMCONV_STABILITY_OPT_IN: 'http,gen_ai_latest_experimental' }

/** A gateway before one provider, and the attributes of the span of each call that it has made. */
async function startTraced (t: Test, more: NodeJS.ProcessEnv = {}, id = 'up') {
  const collector = await startCollector(t)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const { app, url, headers } = await startGateway(t, {
    config: configFor(providerAt(upstream.url, { id })),
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...more }
  })
  return {
    collector,
    upstream,
    async post (path: string, body: object, extra: Record<string, string> = {}) {
      const answer = await request(url + path, { method: 'POST', headers: { ...headers, ...extra }, body: JSON.stringify(body) })
      await answer.body.dump()
      return answer.statusCode
    },
    async end () {
      await app.close()
      const calls = collector.spans.filter(({ kind }) => kind === 3)
      return calls.map(span => ({ ...span, told: attributesOf(span) }))
    }
  }
}

const messages = [{ role: 'user', content: 'a secret prompt' }]
const parameters = {
  temperature: 0.5,
  top_p: 0.9,
  frequency_penalty: 0.1,
  presence_penalty: -0.1,
  seed: 7,
  max_completion_tokens: 500,
  n: 2,
  stop: ['END', 'x'.repeat(300)]
}
const told = {
  'gen_ai.request.temperature': 0.5,
  'gen_ai.request.top_p': 0.9,
  'gen_ai.request.frequency_penalty': 0.1,
  'gen_ai.request.presence_penalty': -0.1,
  'gen_ai.request.seed': 7,
  'gen_ai.request.max_tokens': 500,
  'gen_ai.request.choice.count': 2,
  'gen_ai.request.stop_sequences': ['END', `${'x'.repeat(64)}…`]
}

t.test('a whole answer and a stream have the parameters of their request and why each choice ended', async t => {
  const { upstream, post, end } = await startTraced(t)
  upstream.script(reply({ finishReason: 'length' }))
  upstream.script(reply({ tools: [{ name: 'look', arguments: '{}' }] }))
  await post('/chat/completions', { model: 'chat', messages, ...parameters, response_format: { type: 'json_object' } })
  await post('/chat/completions', { model: 'chat', messages, ...parameters, stream: true })
  await post('/completions', { model: 'chat', prompt: 'a secret prompt', max_tokens: 20 })
  await post('/chat/completions', { model: 'chat', messages, max_tokens: 3, stream: true }, { 'x-session-id': 'thread 1' })
  const spans = await end()
  const [whole, stream, text, last] = spans.map(({ told }) => told)
  const reasons = 'gen_ai.response.finish_reasons'
  t.match(whole, { ...told, [reasons]: ['length', 'length'], 'gen_ai.output.type': 'json', 'gen_ai.response.id': /^chatcmpl-/ })
  t.match(stream, { ...told, [reasons]: ['tool_calls', 'tool_calls'], 'gen_ai.response.id': /^chatcmpl-/ })
  t.notOk(stream !== undefined && 'gen_ai.output.type' in stream, 'it was not asked for')
  t.match(text, { 'gen_ai.operation.name': 'text_completion', 'gen_ai.request.max_tokens': 20, [reasons]: ['stop'] })
  t.match(last, { 'gen_ai.conversation.id': 'thread 1', 'gen_ai.request.max_tokens': 3, [reasons]: Array })
  t.notMatch(JSON.stringify(spans), 'a secret prompt')
})

t.test('the models of the sandbox tell the same, whole and streamed', async t => {
  const collector = await startCollector(t)
  const { app, url, headers } = await startGateway(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  for (const stream of [false, true]) {
    const body = JSON.stringify({ model: 'sandbox-chat', messages, max_tokens: 2, stream })
    await (await request(`${url}/chat/completions`, { method: 'POST', headers, body })).body.dump()
  }
  await app.close()
  const clients = collector.spans.filter(({ kind }) => kind === 3).map(attributesOf)
  t.equal(clients.length, 2)
  for (const one of clients) t.match(one, { 'gen_ai.response.finish_reasons': ['length'], 'gen_ai.request.max_tokens': 2 })
})

t.test('newer attributes are told only to those who opt in; all of them are those of the conventions', async t => {
  const usage = { prompt: 100, completion: 40, cached: 60, reasoning: 30 }
  const newer = [
    'gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.reasoning.output_tokens', 'gen_ai.request.stream',
    'gen_ai.response.time_to_first_chunk'
  ]
  for (const [env, version] of [[{}, '1.37.0'], [latest, '1.41.0']] as const) {
    const { collector, upstream, post, end } = await startTraced(t, env)
    upstream.script(reply({ usage }))
    await post('/chat/completions', { model: 'chat', messages, stream: true, ...parameters, n: 1 })
    const [span] = await end()
    t.match(span?.told, { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 40 })
    for (const name of newer) t.equal(name in (span?.told ?? {}), env === latest, name)
    const foreign = Object.keys(span?.told ?? {}).filter(name => !names.has(name) && !name.startsWith('tollgate.'))
    t.same(foreign, ['gen_ai.usage.cost'])
    t.match(collector.scopes[0], { scope: { name: 'tollgate' }, schemaUrl: `https://opentelemetry.io/schemas/${version}` })
  }
})

t.test('providers have the names of the conventions where those have one', async t => {
  const providers = Object.entries(conventions).filter(([name]) => name.startsWith('GEN_AI_PROVIDER_NAME_VALUE_'))
    .map(([, value]) => value)
  for (const [id, name] of Object.entries({ xai: 'x_ai', mistral: 'mistral_ai', azure: 'azure.ai.openai', up: 'up', groq: 'groq' })) {
    const { post, end } = await startTraced(t, {}, id)
    await post('/chat/completions', { model: 'chat', messages })
    const [span] = await end()
    t.match(span?.told, { 'gen_ai.provider.name': name, 'tollgate.provider': id })
    t.equal((providers as unknown[]).includes(name), id !== 'up', name)
  }
})

t.test('a failure is an error of the span of the call, and of that of the request only if the server failed', async t => {
  const { collector, upstream, post, end } = await startTraced(t)
  upstream.script(refusal(400, { message: 'That is too much.' }), refusal(500), reply())
  t.equal(await post('/chat/completions', { model: 'chat', messages }), 400)
  t.equal(await post('/chat/completions', { model: 'chat', messages }), 502)
  t.equal(await post('/chat/completions', { model: 'chat', messages }), 200)
  t.equal(await post('/chat/completions', { model: 'unknown', messages }), 404)
  const calls = await end()
  const [unset, error] = [0, 2]
  t.same(calls.map(({ status, told }) => [status.code, told['error.type']]),
    [[error, '400'], [error, '502'], [unset, undefined]])
  t.match(calls[0]?.status.message, 'That is too much.')
  const requests = collector.spans.filter(({ kind }) => kind === 2)
  t.same(requests.map(span => [span.status.code, attributesOf(span)['error.type']]),
    [[unset, undefined], [error, '502'], [unset, undefined], [unset, undefined]])
})

t.test('the sender is what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, and headers go to the collector', async t => {
  const { collector, post, end } = await startTraced(t, {
    OTEL_SERVICE_NAME: 'gate',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=prod%2Ceu',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic cGs6c2s=,x-team=a%20b'
  })
  await post('/chat/completions', { model: 'chat', messages })
  await end()
  t.match(collector.resources[0], {
    'service.name': 'gate', 'service.version': String, 'deployment.environment.name': 'prod,eu', 'telemetry.sdk.name': 'opentelemetry'
  })
  t.match(collector.headers[0], { authorization: 'Basic cGs6c2s=', 'x-team': 'a b' })
})

t.test('attributes that cannot be read are reported once, and traces are sent', async t => {
  const collector = await startCollector(t)
  const gateway = await startGateway(t, {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_RESOURCE_ATTRIBUTES: 'team=a,nonsense' }
  })
  const warning = await gateway.line(({ msg }) => /OTEL_RESOURCE_ATTRIBUTES is ignored/.test(String(msg)))
  t.equal(warning['level'], 40)
  await (await request(`${gateway.url}/models`, { headers: gateway.headers })).body.dump()
  await gateway.app.close()
  t.match(collector.resources[0], { 'service.name': 'tollgate' })
})

t.test('Langfuse finds the model, its parameters, tokens, cost, session and failures', async t => {
  const collector = await startCollector(t)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const docs = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'tracing.md'), 'utf8')
  const [block = ''] = docs.match(/OTEL_EXPORTER_OTLP_ENDPOINT=https:\/\/cloud.langfuse.com[^`]*/) ?? []
  const documented = Object.fromEntries([...block.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
  t.ok(Object.keys(documented).length >= 3)
  const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
  const { app, url, headers } = await startGateway(t, {
    config: configFor(providerAt(upstream.url), { price }),
    env: {
      ...documented,
      OTEL_EXPORTER_OTLP_ENDPOINT: String(documented['OTEL_EXPORTER_OTLP_ENDPOINT']).replace('https://cloud.langfuse.com', collector.url)
    }
  })
  upstream.script(reply({ usage: { prompt: 100, completion: 40, cached: 60, reasoning: 30 } }))
  upstream.script(refusal(400, { message: 'That is too much.' }))
  const ask = async (body: object) => {
    const sent = { method: 'POST' as const, headers: { ...headers, 'x-session-id': 'thread-1' }, body: JSON.stringify(body) }
    const answer = await request(`${url}/chat/completions`, sent)
    await answer.body.dump()
    return answer.headers['x-tollgate-cost']
  }
  const cost = await ask({ model: 'chat', messages, temperature: 0.5, max_tokens: 500 })
  await ask({ model: 'chat', messages })
  await app.close()

  t.same(new Set(collector.paths), new Set(['/api/public/otel/v1/traces']))
  t.match(collector.headers[0], { authorization: /^Basic / })
  const [resource = {}] = collector.resources
  const seen = collector.spans.map(span => readAsLangfuse(span, resource))
  t.match(seen.filter(({ type }) => type === 'GENERATION'), [{
    model: /^gpt-5-nano/,
    parameters: { temperature: 0.5, max_tokens: 500 },
    usage: { input: 40, input_cached_tokens: 60, output: 10, output_reasoning_tokens: 30 },
    costUsd: Number(cost),
    session: 'thread-1',
    environment: 'production',
    level: 'DEFAULT'
  }, { model: 'gpt-5-nano', level: 'ERROR', message: 'That is too much.' }])
  t.equal(seen.filter(({ type }) => type === 'SPAN').length, 2)
})
