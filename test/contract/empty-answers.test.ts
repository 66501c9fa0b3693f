import t, { type Test } from 'tap'
import { request } from 'undici'
import { requestsDefaults } from '../../services/config/defaults.ts'
import { price } from '../helpers/faults.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { document, finish, head, reply, send, sequence, startUpstream, type Script } from '../servers/upstream.ts'

// A provider that answers 200 and says nothing has failed, before anything has gone to the client.

const type = { 'content-type': 'text/event-stream' }
const done = 'data: [DONE]\n\n'
const usage = { prompt_tokens: 8, completion_tokens: 0, total_tokens: 8 }
const said = (members: object) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...members })}\n\n`
const streamOf = (...events: string[]): Script =>
  sequence(head(type), send(events.map(event => Buffer.from(event))), finish)
const documentOf = (body: unknown): Script => document(JSON.stringify(body))

const empty: Readonly<Record<string, Script>> = {
  'only [DONE]': streamOf(done),
  'nothing at all': streamOf(),
  'only comments': streamOf(': wait\n\n', ': wait\n\n', done),
  'only pings': streamOf('event: ping\ndata: {"type":"ping"}\n\n', done),
  'only usage': streamOf(said({ choices: [], usage }), done),
  'only what a filter says': streamOf(said({ choices: [], prompt_filter_results: [] }), done),
  'no body of its type': sequence(head({ 'content-type': 'application/json' }), finish),
  'an answer without choices': documentOf({ object: 'chat.completion', choices: [], usage }),
  'an answer without a list of choices': documentOf({ object: 'chat.completion', choices: null })
}

const bodies: Readonly<Record<string, [string, object]>> = {
  chat: ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  'legacy completions': ['/completions', { prompt: 'Hi' }]
}

async function start (t: Test, retries: number) {
  const [one, two] = [await startUpstream(), await startUpstream()]
  for (const upstream of [one, two]) t.teardown(() => upstream.close())
  const providers = [providerAt(one.url, { id: 'one' }), providerAt(two.url, { id: 'two' })]
  const deployments = providers.map(({ id }, priority) => ({ provider: id, model: `at-${id}`, weight: 1, priority }))
  const used = retries > 0 ? deployments.slice(0, 1) : deployments
  const base = configFor(providerAt(one.url), { deployments: used, price, maxOutput: 1000 })
  const requests = { ...requestsDefaults, retries, backoffMs: 1 }
  const gateway = await startGateway(t, { config: { ...base, providers, requests } })
  return { one, two, gateway }
}

for (const [endpoint, [path, body]] of Object.entries(bodies)) {
  for (const stream of [true, false]) {
    t.test(`${endpoint}, ${stream ? 'streamed' : 'whole'}: an empty answer is retried, falls back and costs nothing`, async t => {
      for (const retries of [0, 1]) {
        const { one, two, gateway } = await start(t, retries)
        const ask = async () => {
          const { statusCode: status, headers, body: answer } = await request(gateway.url + path, {
            method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', stream, ...body })
          })
          return { status, attempts: headers['x-tollgate-attempts'], provider: headers['x-tollgate-provider'], text: await answer.text() }
        }
        const charges = async () => {
          await gateway.app.ledger.flush()
          return await gateway.app.store.all<{ amount: number }>("select amount from entry where kind = 'usage' order by seq")
        }
        for (const [name, script] of Object.entries(empty)) {
          one.script(script)
          const { status, attempts, provider, text } = await ask()
          t.match({ status, attempts, provider }, { status: 200, attempts: '2', provider: retries > 0 ? 'one' : 'two' }, name)
          t.match(text, /there!/)
        }
        const charged = await charges()
        t.equal(charged.length, Object.keys(empty).length, 'only the answers are charged')
        one.always(streamOf(done))
        two.always(streamOf(done))
        t.match(await ask(), { status: 502, text: /upstream_bad_reply/ })
        one.always(reply())
        t.equal((await charges()).length, charged.length, 'and an empty one is free')
      }
    })
  }
}
