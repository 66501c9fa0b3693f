import OpenAI from 'openai'
import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import {
  cutAt, delay, error, image, moderated, rateLimited, refusal, testGateway, text, toolCall, useTollgate, video
} from '../../../lib/testing.ts'

const messages = [{ role: 'user' as const, content: 'What is the weather?' }]

t.test('a script decides text, tools, refusals and usage, and the ledger charges it', async t => {
  await using gateway = await testGateway()
  gateway.model('gpt-4o').script([
    toolCall('get_weather', { city: 'Oslo' }),
    text('18 °C').usage({ prompt: 90, completion: 5 }),
    refusal('No.'),
    text('Deep').reasoning('Hm.').finish('length')
  ])
  const client = new OpenAI(gateway.client())
  const ask = async () => await client.chat.completions.create({ model: 'gpt-4o', messages })
  const [call] = (await ask()).choices[0]?.message.tool_calls ?? []
  t.match(call, { id: 'call_1', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } })
  const before = Number(await gateway.spent())
  const second = await ask()
  t.match(second, { id: 'chatcmpl_2', created: 1767225600, usage: { prompt_tokens: 90, completion_tokens: 5 } })
  t.equal(second._request_id, 'req_2')
  t.equal((Number(await gateway.spent()) - before).toFixed(7), (90 * 2.5e-6 + 5 * 10e-6).toFixed(7))
  t.equal((await ask()).choices[0]?.message.refusal, 'No.')
  t.match((await ask()).choices[0], { finish_reason: 'length', message: { content: 'Deep', reasoning_content: 'Hm.' } })
  t.match(gateway.requests[0], { kind: 'chat', provider: 'openai', model: 'gpt-4o', body: { messages } })
  t.equal(gateway.requests.length, 4)
})

t.test('streams come through the fetch of client(), and break where the script says', async t => {
  await using gateway = await testGateway()
  gateway.model('gpt-4o').script([text('one two three'), text('one two three').cutAt(2), cutAt(1), delay(1)])
  const client = new OpenAI({ ...gateway.client(), maxRetries: 0 })
  const stream = async () => {
    let content = ''
    const events = await client.chat.completions.create({ model: 'gpt-4o', messages, stream: true })
    for await (const chunk of events) content += chunk.choices[0]?.delta.content ?? ''
    return content
  }
  t.equal(await stream(), 'one two three')
  await t.rejects(stream(), /broke/)
  await t.rejects(stream(), /broke/)
  t.ok(await stream())
})

t.test('the gateway repeats a limited call as it would in production, and passes other errors on', async t => {
  await using gateway = await testGateway()
  gateway.model('gpt-4o').script([rateLimited({ retryAfter: 0.01 }), text('Hello'), error(404), moderated()])
  const client = new OpenAI({ ...gateway.client(), maxRetries: 0 })
  const ask = () => client.chat.completions.create({ model: 'gpt-4o', messages })
  t.equal((await ask()).choices[0]?.message.content, 'Hello')
  t.match(await ask().catch(error => error), { status: 404 })
  t.match(await ask().catch(error => error), { status: 400, code: 'content_policy_violation' })
})

t.test('models of other vendors, images and videos play scripts too', async t => {
  await using gateway = await testGateway()
  gateway.model('claude-sonnet-4-5').script([text('Bonjour')])
  gateway.model('gpt-image-1.5').script([image()])
  gateway.model('sora-2').script([video.queued(2), video.failed('content_policy_violation'), video.queued(1), video.done()])
  const { apiKey, fetch } = gateway.client()
  const anthropic = new Anthropic({ apiKey, fetch, baseURL: gateway.url })
  const message = await anthropic.messages.create({ model: 'claude-sonnet-4-5', max_tokens: 50, messages })
  t.match(message.content[0], { text: 'Bonjour' })
  const openai = new OpenAI({ ...gateway.client(), maxRetries: 0 })
  const images = await openai.images.generate({ model: 'gpt-image-1.5', prompt: 'A bridge', size: '1024x1024' })
  t.ok(images.data?.[0]?.b64_json)
  const failed = await openai.chat.completions.create({ model: 'sora-2', messages }).catch(error => error)
  t.match(failed, { message: /failed, as the script says/ })
  const other = [{ role: 'user' as const, content: 'A bridge' }]
  const done = await openai.chat.completions.create({ model: 'sora-2', messages: other })
  t.match(done.choices[0]?.message.content, /http:\/\/tollgate\.test\/v1\/media/)
  t.equal((await fetch(String(done.choices[0]?.message.content?.match(/http:\S+?(?=[)\s]|$)/)?.[0]))).status, 200)
})

t.test('a call without a step fails, also when the app swallows the error', async t => {
  const gateway = await testGateway()
  const response = await gateway.inject({ method: 'POST', url: '/v1/chat/completions', payload: { model: 'gpt-4o', messages } })
  t.match(response.json(), { error: { code: 'unscripted_call', message: /no step/ } })
  await t.rejects(gateway.close(), /without a step in the script: gpt-4o/)
  t.throws(() => gateway.model('nothing'), /no model 'nothing'/)
})

t.test('a configuration of production plays scripts instead of calling its providers', async t => {
  await using gateway = await testGateway({
    config: {
      providers: [{ id: 'here', base_url: 'http://127.0.0.1:9/v1' }, { id: 'there', base_url: 'http://127.0.0.1:9/v1' }],
      models: [{
        id: 'house',
        deployments: [{ provider: 'here', model: 'm1' }, { provider: 'there', model: 'm2', priority: 1 }],
        price: { input: 1, output: 2 }
      }]
    },
    credit: 0.001
  })
  gateway.model('house').script([error(503), text('From the second one').usage({ prompt: 10, completion: 10 })])
  const client = new OpenAI({ ...gateway.client(), maxRetries: 0 })
  const { choices: [choice] } = await client.chat.completions.create({ model: 'house', messages, max_tokens: 20 })
  t.equal(choice?.message.content, 'From the second one')
  t.same(gateway.requests.map(({ provider }) => provider), ['here', 'there'])
  t.equal(await gateway.spent(), '0.00003')
})

t.test('useTollgate gives each test a gateway, which starts fast after the first', async t => {
  const hooks: Record<'beforeEach' | 'afterEach', () => Promise<void>> = { beforeEach: async () => {}, afterEach: async () => {} }
  const gateway = useTollgate({}, {
    beforeEach: hook => { hooks.beforeEach = hook }, afterEach: hook => { hooks.afterEach = hook }
  })
  t.throws(gateway, /only while a test runs/)
  const startedMs = performance.now()
  await hooks.beforeEach()
  t.comment(`started in ${Math.round(performance.now() - startedMs)} ms`)
  t.equal((await gateway().inject('/v1/models')).statusCode, 200)
  await hooks.afterEach()
  t.throws(gateway, /only while a test runs/)
  t.throws(() => useTollgate(), /no global hooks/)
})
