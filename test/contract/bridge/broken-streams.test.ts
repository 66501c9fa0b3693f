import { request } from 'undici'
import t from 'tap'
import { rejection } from '../../helpers/thrown.ts'
import { until } from '../../helpers/until.ts'
import { providerAt } from '../../helpers/gateway.ts'
import { answer, message, reasoning } from '../../servers/responses.ts'
import { hangUp, reply, reset, stall, startUpstream, type Script } from '../../servers/upstream.ts'
import { bookedBy, call, complete, messages, openBridge, usualNano, weatherTool } from './bridge-shop.ts'

// What a stream of the Responses API can do wrong, and what a client of chat or Messages reads then.

const model = 'gpt-5.6-luna'
const body = { model, messages, tools: [weatherTool] }
const claudeBody = { model, max_tokens: 2000, messages, tools: [{ name: 'f', input_schema: { type: 'object' as const } }] }
const long = message('word '.repeat(200))

const failed = (code: string, said: string) => ({
  type: 'response.failed',
  response: { id: 'resp_x', status: 'failed', error: { code, message: said }, output: [], usage: null }
})
const created = { type: 'response.created', response: { id: 'resp_x', status: 'in_progress', output: [] } }
/** The events up to the given one, and then others. */
const cutAt = (type: string, ...more: object[]) => (events: object[]): object[] => {
  return [...events.slice(0, events.findIndex(event => Reflect.get(event, 'type') === type)), ...more]
}

t.test('a failure before the first word keeps its words and status', async t => {
  const { client, claude, upstream } = await openBridge(t)
  const stream = () => complete(client, body, true)
  upstream.script(answer({}, { events: () => [created, failed('invalid_prompt', 'Your prompt was flagged.')] }))
  t.match(await rejection(stream()), { message: /Your prompt was flagged/ })
  const limited = { type: 'error', code: 'rate_limit_exceeded', message: 'Rate limit reached for gpt-5.6-luna.', param: null }
  for (const ask of [stream, () => claude.messages.stream(claudeBody).finalMessage()]) {
    upstream.always(answer({}, { events: () => [created, limited] }))
    t.match(await rejection(ask()), { status: 429, message: /rate limit/ })
  }
  upstream.always(answer({ more: { status: 'failed', error: { code: 'server_error', message: 'The server had an error.' } } }))
  t.match(await rejection(complete(client, body, false)), { status: 502, message: /The server had an error/ })
})

t.test('a failure before the first word goes to the next candidate', async t => {
  const other = await startUpstream()
  t.teardown(() => other.close())
  other.always(reply({ text: 'From the other.' }))
  const shop = await openBridge(t, {
    config: config => ({
      ...config,
      providers: [...config.providers, providerAt(other.url, { id: 'other' })],
      models: config.models.map(one => ({
        ...one, deployments: [...one.deployments, { provider: 'other', model: 'm', weight: 1, priority: 1 }]
      }))
    })
  })
  shop.upstream.always(answer({}, { events: () => [created, failed('server_error', 'It broke.')] }))
  const completion = await complete(shop.client, body, true)
  t.equal(completion.choices[0]?.message.content, 'From the other.')
  t.equal((await bookedBy(shop)).length, 1)
})

const breaks: [string, Parameters<typeof answer>, RegExp][] = [
  ['an error event', [{ output: [long] }, { events: cutAt('response.output_text.done', { type: 'error', code: 'server_error', message: 'It broke at last.', param: null }) }], /It broke at last/],
  ['a failed response', [{ output: [long] }, { events: cutAt('response.output_text.done', failed('server_error', 'It failed at last.')) }], /It failed at last/],
  ['a killed connection', [{ output: [long] }, { events: cutAt('response.output_text.done'), end: reset }], /provider.*(broke|clos|reset|end|connection)/i],
  ['a connection that is closed', [{ output: [long] }, { events: cutAt('response.output_text.done'), end: hangUp }], /provider.*(broke|clos|reset|end|connection)/i],
  ['an end without the last event', [{ output: [long] }, { events: cutAt('response.completed') }], /provider's response cannot be used/]
]

for (const [name, script, words] of breaks) {
  t.test(`${name} after the first words is an error that says so, and what came is charged once`, async t => {
    const shop = await openBridge(t)
    shop.upstream.script(answer(...script))
    const pieces: string[] = []
    const failure = await rejection((async () => {
      const stream = await shop.client.chat.completions.create({ ...body, stream: true })
      for await (const { choices: [choice] } of stream) {
        pieces.push(choice?.delta.content ?? '')
        t.notOk(choice?.finish_reason)
      }
    })())
    t.match(failure, { message: words })
    t.match(pieces.join(''), /word word/)
    await until(async () => (await bookedBy(shop)).length > 0)
    const booked = await bookedBy(shop)
    t.equal(booked.length, 1)
    t.ok(booked[0]!.usage.completion! > 100 && booked[0]!.usage.completion! < 600, `${booked[0]!.usage.completion} tokens`)
    shop.upstream.script(answer(...script))
    t.match(await rejection(shop.claude.messages.stream(claudeBody).finalMessage()), { message: words })
  })
}

t.test('a client that leaves ends the call, and pays once for what came', async t => {
  const shop = await openBridge(t)
  shop.upstream.script(answer({ output: [long] }, { events: cutAt('response.output_text.done'), end: stall }))
  const response = await request(`${shop.gateway.url}/chat/completions`, {
    method: 'POST', headers: shop.gateway.headers, body: JSON.stringify({ ...body, stream: true })
  })
  let read = ''
  for await (const piece of response.body) {
    read += String(piece)
    if (read.split('word').length > 150) break
  }
  await shop.gateway.app.chat.idle()
  const [sent] = shop.upstream.requests
  await sent?.closed
  t.equal(sent?.aborted, true)
  const booked = await bookedBy(shop)
  t.equal(booked.length, 1)
  t.ok(booked[0]!.usage.completion! > 100)
})

t.test('a client that leaves a whole answer lets it end, and pays by its usage', async t => {
  const shop = await openBridge(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  const held: Script = async exchange => {
    await promise
    await answer()(exchange)
  }
  shop.upstream.script(held)
  const leaving = new AbortController()
  const waiting = shop.client.chat.completions.create(body, { signal: leaving.signal }).catch(() => {})
  await shop.upstream.nextRequest()
  leaving.abort()
  await waiting
  resolve()
  await until(async () => (await bookedBy(shop)).length > 0)
  t.match(await bookedBy(shop), [{ amount: usualNano, estimated: 0 }])
})

t.test('a server may leave out events, or answer whole', async t => {
  const { client, upstream } = await openBridge(t)
  const output = [reasoning('gAAAA'), message('Let me look.'), call('Rome')]
  const only = (...types: string[]) => (events: object[]) => events.filter(event => types.includes(Reflect.get(event, 'type')))
  const whole: Script = exchange => {
    const body = { ...exchange.request.body, stream: false }
    return answer({ output })({ ...exchange, request: { ...exchange.request, body } })
  }
  const scripts = [
    answer({ output }, { events: only('response.completed') }),
    answer({ output }, { events: only('response.output_item.done', 'response.completed') }),
    answer({ output }, { events: only('response.created', 'response.output_text.delta', 'response.function_call_arguments.delta', 'response.completed') }),
    answer({ output }, { wire: events => events.flatMap(event => [': keep-alive\n\n', event]) }),
    whole
  ]
  for (const script of scripts) {
    upstream.script(script)
    const { id, choices: [choice] } = await complete(client, body, true)
    t.match(id, /^chatcmpl-./)
    t.match(choice, {
      finish_reason: 'tool_calls',
      message: { content: 'Let me look.', tool_calls: [{ id: 'call_Rome', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } }] }
    })
  }
})
