import t from 'tap'
import { request } from 'undici'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { document, startUpstream, type Script } from '../servers/upstream.ts'

/** An operator's key that looks like an ordinary word. */
const apiKey = 'hollyhock'
const words = `The key ${apiKey} may not do that.`

const json = (body: object, status = 200): Script => document(JSON.stringify(body), { status })
const events = (...list: object[]): Script =>
  document(list.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''), { headers: { 'content-type': 'text/event-stream' } })

const errors = {
  openai: { error: { message: words, code: 400 } },
  gemini: { error: { code: 400, message: words, status: 'INVALID_ARGUMENT' } },
  anthropic: { type: 'error', error: { type: 'invalid_request_error', message: words } }
}
const beginnings = {
  openai: { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] },
  gemini: { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] },
  anthropic: { type: 'message_start', message: { id: 'msg_1', model: 'claude', usage: { input_tokens: 1, output_tokens: 1 } } }
}

for (const protocol of ['openai', 'gemini', 'anthropic'] as const) {
  t.test(`${protocol}: a provider that repeats the operator's key does not give it away`, async t => {
    let script: Script = json({})
    const upstream = await startUpstream({ route: () => script })
    t.teardown(() => upstream.close())
    const config = configFor(providerAt(upstream.url, { protocol, apiKey }))
    const gateway = await startGateway(t, { config })
    const { url, headers } = gateway
    const error = errors[protocol]
    const long = JSON.parse(JSON.stringify(error).replace(words, `${'word '.repeat(397)}x${words}`))
    for (const [name, next, stream] of [
      ['refused', json(error, 400), false],
      ['refused, in long words', json(long, 400), false],
      ['whole', json(error), false],
      ['whole instead of a stream', json(error), true],
      ['first event', events(error), true],
      ['after text', events(beginnings[protocol], error), true]
    ] as const) {
      script = next
      const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }], stream })
      const answer = await request(`${url}/chat/completions`, { method: 'POST', headers, body })
      t.notMatch(await answer.body.text(), /holl/, name)
    }
    t.notMatch(JSON.stringify(gateway.lines), /holl/)
  })
}
