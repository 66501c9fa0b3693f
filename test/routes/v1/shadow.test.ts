import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { ModelConfig } from '../../../services/config/catalogue/types.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { configFor, providerAt, startGateway } from '../../helper.ts'
import { refusal, reply, startUpstream, type Script } from '../../upstream.ts'

const messages = [{ role: 'user' as const, content: 'Name a prime number between 20 and 30.' }]
const unpriced = { cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null }
const price = { inputPico: 1e6, outputPico: 2e6, ...unpriced }
const texts: Record<string, string> = { small: '21', large: '23' }

/** A gateway with `small`, `large` and `judge`, whose key for comparisons is of another account. */
async function start (t: Test, judge: Script) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.always(async exchange => {
    const model = String(exchange.request.body?.model)
    await (model === 'judge' ? judge : reply({ text: texts[model] ?? '' }))(exchange)
  })
  const config = configFor(providerAt(upstream.url))
  const [chat] = config.models as [ModelConfig]
  config.models = ['small', 'large', 'judge'].map(id => ({
    ...chat, id, price, deployments: [{ provider: 'up', model: id, weight: 1, priority: 0 }]
  }))
  config.policies = builtInPolicies().map(policy => ({ ...policy, models: ['small', 'large'] }))
  config.routing = { shadow: null }
  const gateway = await startGateway(t, { config })
  const { app, url, key } = gateway
  await app.accounts.create({ id: 'evaluation' })
  await app.accounts.deposit({ id: 'd', account: 'evaluation', amountNano: 1e9 })
  const evaluation = await app.keys.create({ account: 'evaluation', label: 'shadow' })
  config.routing.shadow = { share: 1, judge: 'judge', key: evaluation.key }
  const stored = Promise.withResolvers<void>()
  const { storeJudged } = app.routingFeedback
  let count = 0
  app.routingFeedback.storeJudged = async (...args) => {
    await storeJudged(...args)
    if (++count === 2) stored.resolve()
  }
  const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 })
  return { ...gateway, config, upstream, stored: stored.promise, client }
}

/** Scores an answer 9 if it is right, whichever place it has. */
const fair: Script = async exchange => {
  const [, asked] = exchange.request.body?.messages as { content: string }[]
  const { first } = JSON.parse(asked?.content ?? '')
  const [one, other] = first === '23' ? [9, 2] : [2, 9]
  await reply({ text: `\`\`\`json\n{"first": ${one}, "second": ${other}}\n\`\`\`` })(exchange)
}

for (const stream of [false, true]) {
  t.test(`a sampled answer is compared with that of another model, ${stream ? 'streamed' : 'whole'}`, async t => {
    const { app, client, stored, upstream } = await start(t, fair)
    const { data, response } = await client.chat.completions.create({ model: 'auto', messages, stream }).withResponse()
    if (Symbol.asyncIterator in data) await Array.fromAsync(data)
    await stored
    const id = response.headers.get('x-request-id')
    const rows = await app.store.all<{ request_id: string, model: string, score: number, expected: number }>(
      'select request_id, model, score, expected from routing_feedback')
    t.same(rows.map(({ request_id: request }) => request).sort(), [id, `${id}/shadow`])
    for (const { model, score, expected } of rows) {
      t.equal(score, model === 'large' ? 0.9 : 0.2, model)
      t.ok(expected > 0 && expected < 1)
    }
    t.equal(rows.find(({ request_id: request }) => request === id)?.model, response.headers.get('x-tollgate-model'))
    t.same(upstream.requests.map(({ body }) => body?.model).sort(), ['judge', 'large', 'small'])
    await app.ledger.flush()
    const booked = await app.store.all<{ debit: string }>("select debit from entry where kind = 'usage' order by debit")
    t.same(booked.map(({ debit }) => debit), ['default', 'evaluation', 'evaluation'], 'the client pays for its own alone')
  })
}

t.test('a score of the client counts more than that of the judge', async t => {
  const asked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const { app, client, stored, url, headers } = await start(t, async exchange => {
    asked.resolve()
    await go.promise
    await fair(exchange)
  })
  const { response } = await client.chat.completions.create({ model: 'auto', messages }).withResponse()
  const id = response.headers.get('x-request-id')
  await asked.promise
  await fetch(`${url}/routing/feedback`, { method: 'POST', headers, body: JSON.stringify({ id, score: 0.4 }) })
  go.resolve()
  await stored
  t.same(await app.store.all('select score from routing_feedback where request_id = $1', [id]), [{ score: 0.4 }])
})

t.test('a judge that fails is logged, and costs the client nothing', async t => {
  const { app, client, line } = await start(t, refusal(400))
  t.ok((await client.chat.completions.create({ model: 'auto', messages })).choices[0])
  t.match(await line(({ msg }) => msg === 'a shadow comparison failed'), { reqId: String })
  t.same(await app.store.all('select * from routing_feedback'), [])
})

t.test('neither named models, nor tools, nor requests outside of the sample are compared', async t => {
  const { config, client, upstream } = await start(t, fair)
  const tools = [{ type: 'function' as const, function: { name: 'f', parameters: {} } }]
  await client.chat.completions.create({ model: 'small', messages })
  await client.chat.completions.create({ model: 'auto', messages, tools })
  config.routing.shadow = { share: 0, judge: 'judge', key: '' }
  await client.chat.completions.create({ model: 'auto', messages })
  t.equal(upstream.requests.length, 3)
})

t.test('a gateway that closes gives up its comparisons', async t => {
  const asked = Promise.withResolvers<void>()
  const { app, client } = await start(t, async exchange => {
    asked.resolve()
    await exchange.request.closed
  })
  await client.chat.completions.create({ model: 'auto', messages })
  await asked.promise
  await app.close()
  t.pass('closed')
})
