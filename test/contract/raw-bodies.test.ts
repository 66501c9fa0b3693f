import t from 'tap'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { reply, startUpstream } from '../servers/upstream.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const config = configFor(providerAt(upstream.url), {
  id: 'same', deployments: [{ provider: providerAt(upstream.url).id, model: 'same', weight: 1, priority: 0 }]
})
const gateway = await startGateway(t, { config })
const messages = '"messages":[{"role":"user","content":"Hi"}]'
const long = `"long":"${'x'.repeat(300_000)}"`

async function sent (body: string): Promise<string> {
  const before = upstream.requests.length
  upstream.always(reply())
  const response = await fetch(`${gateway.url}/chat/completions`, { method: 'POST', headers: gateway.headers, body })
  await response.text()
  t.equal(response.status, 200)
  return upstream.requests[before]?.bytes.toString() ?? ''
}

t.test('a body that needs no change reaches the provider byte for byte', async t => {
  for (const more of ['"a":"\\u00e9"', long]) {
    const body = `{ "model": "same", "seed": 1.0, ${more}, ${messages} }`
    t.equal(await sent(body), body)
  }
})

t.test('a body that repeats a name reaches the provider as it was checked and priced', async t => {
  for (const more of ['"a":1', long]) {
    const body = `{"model":"dear","n":100,"n":1,${messages},"thinking":{"budget":100,"budget":1},"model":"same",${more}}`
    t.equal(await sent(body), `{"model":"same","n":1,${messages},"thinking":{"budget":1},${more}}`)
  }
})
