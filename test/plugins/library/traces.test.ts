import t from 'tap'
import { request } from 'undici'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { attributesOf, startCollector } from '../../servers/otlp-collector.ts'
import { refusal, reply, scripts, startUpstream } from '../../servers/upstream.ts'
import { until } from '../../helpers/until.ts'

t.test('a request is a trace that goes on from its caller, with what the conventions ask for', async t => {
  const collector = await startCollector(t)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.script(reply())
  upstream.script(refusal(500, { message: 'No GPU at http://gpu-3.internal:8000.' }))
  const { app, url, headers } = await startGateway(t, {
    config: configFor(providerAt(upstream.url)), env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const ask = async (more: Record<string, string>) => {
    const answer = await request(`${url}/chat/completions`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'a secret prompt' }] })
    })
    await answer.body.dump()
    return answer
  }
  const beforeMs = Date.now()
  await ask({ traceparent: `00-${traceId}-b7ad6b7169203331-01` })
  await ask({ traceparent: 'nonsense' })
  await app.close()

  t.same(new Set(collector.paths), new Set(['/v1/traces']))
  const ofTrace = collector.spans.filter(span => span.traceId === traceId)
  const [server, client] = [2, 3].map(kind => ofTrace.find(span => span.kind === kind))
  if (server === undefined || client === undefined) return t.fail('the spans are missing')
  t.match(server, { name: 'POST /v1/chat/completions', parentSpanId: 'b7ad6b7169203331' })
  t.match(attributesOf(server), { 'http.route': '/v1/chat/completions', 'http.response.status_code': 200 })
  t.match(client, { name: 'chat gpt-5-nano', parentSpanId: server.spanId })
  t.match(attributesOf(client), {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'up',
    'gen_ai.request.model': 'gpt-5-nano',
    'gen_ai.response.model': String,
    'gen_ai.usage.input_tokens': Number,
    'gen_ai.usage.output_tokens': Number,
    'tollgate.model': 'chat',
    'tollgate.attempts': 1
  })
  const startMs = Number(BigInt(client.startTimeUnixNano) / 1_000_000n)
  t.ok(startMs >= beforeMs - 1000 && startMs <= Date.now())
  t.ok(BigInt(client.endTimeUnixNano) > BigInt(client.startTimeUnixNano))

  const failed = collector.spans.filter(span => span.traceId !== traceId)
  t.equal(failed.length, 2)
  t.notOk(failed.find(({ kind }) => kind === 2)?.parentSpanId, 'a header that makes no sense begins a new trace')
  for (const span of failed) t.equal(span.status.code, 2)
  t.match(attributesOf(failed.find(({ kind }) => kind === 3)!), {
    'error.type': '502', 'tollgate.provider.words': /^No GPU at \[server\]/
  })
  const [event] = failed.find(({ kind }) => kind === 3)?.events ?? []
  t.equal(event?.name, 'tollgate.call.failed')
  t.match(event && attributesOf(event), {
    'gen_ai.provider.name': 'up',
    'error.type': 'bad_reply',
    'http.response.status_code': 500,
    'tollgate.provider.words': /^No GPU at \[server\]/
  })
  t.match(failed.find(({ kind }) => kind === 3)?.status.message, /^No GPU/)
  t.notMatch(JSON.stringify(collector.spans), 'a secret prompt')
  t.notMatch(JSON.stringify(collector.spans), 'gpu-3')
})

t.test('the span of a request whose client has left has what it was charged', async t => {
  const collector = await startCollector(t)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const { promise, resolve } = Promise.withResolvers<void>()
  upstream.script(scripts.heldUntil(promise, reply({ usage: { prompt: 10, completion: 10 } })))
  const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
  const { app, url, headers } = await startGateway(t, {
    config: configFor(providerAt(upstream.url, { onDisconnect: 'finish' }), { price }),
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TOLLGATE_STARTING_CREDIT: '1' }
  })
  const leaving = new AbortController()
  const messages = [{ role: 'user', content: 'a secret prompt' }]
  const body = JSON.stringify({ model: 'chat', messages, max_tokens: 100 })
  const answer = request(`${url}/chat/completions`, { method: 'POST', headers, body, signal: leaving.signal })
  await upstream.nextRequest()
  leaving.abort()
  await t.rejects(answer)
  await until(async () => /^tollgate_abandoned_calls 1$/m.test(await app.metrics.text()))
  const closed = app.close()
  resolve()
  await closed
  const client = collector.spans.find(({ kind }) => kind === 3)
  if (client === undefined) return t.fail('the span is missing')
  t.match(attributesOf(client), { 'tollgate.cost_usd': 0.00005, 'gen_ai.usage.output_tokens': 10 })
})

t.test('an image and a video are told as an answer is, in traces and metrics', async t => {
  const collector = await startCollector(t)
  const { app, url, headers } = await startGateway(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  const post = async (path: string, body: object) => {
    const answer = await request(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    await answer.body.dump()
    return answer
  }
  const image = await post('/images/generations', { model: 'sandbox-image', prompt: 'a secret prompt', n: 2, size: '64x64' })
  t.equal(image.statusCode, 200)
  const messages = [{ role: 'user', content: 'sandbox:error 400' }]
  t.equal((await post('/chat/completions', { model: 'sandbox-video', messages })).statusCode, 400)
  const metrics = await app.metrics.text()
  await app.close()

  const spans = collector.spans.filter(({ kind }) => kind === 3)
  const attributes = (name: string) => attributesOf(spans.find(span => span.name === `generate_content ${name}`)!)
  t.match(attributes('sandbox-image'), {
    'gen_ai.operation.name': 'generate_content',
    'gen_ai.provider.name': 'sandbox',
    'gen_ai.request.model': 'sandbox-image',
    'gen_ai.output.type': 'image',
    'tollgate.model': 'sandbox-image',
    'tollgate.images': 2,
    'tollgate.cost_usd': Number(image.headers['x-tollgate-cost'])
  })
  t.match(attributes('sandbox-video'), {
    'gen_ai.provider.name': 'sandbox',
    'gen_ai.output.type': 'video',
    'error.type': '400',
    'tollgate.model': 'sandbox-video',
    'tollgate.job.id': /^job_/,
    'tollgate.cost_usd': 0
  })
  t.notMatch(JSON.stringify(collector.spans), 'a secret prompt')
  const labels = 'route="/v1/images/generations",model="sandbox-image",provider="sandbox"'
  t.match(metrics, `tollgate_requests_total{${labels},status="200"} 1`)
  t.match(metrics, `tollgate_cost_usd_total{${labels}} ${image.headers['x-tollgate-cost']}`)
  t.match(metrics, 'tollgate_requests_total{route="/v1/chat/completions",model="sandbox-video",provider="sandbox",status="400"} 1')
  t.match(metrics, 'tollgate_jobs_ended_total{state="failed"} 1')
  t.match(metrics, 'tollgate_jobs_cost_usd_total 0')
})
