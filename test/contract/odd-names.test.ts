import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { builtInPolicies } from '../../services/config/read/policies.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { keepOpen } from '../helpers/keep-open.ts'

const adminKey = 'operator-key-of-this-test'
/** Members of each object in JavaScript. */
const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty']

/** A provider that gives each call the next answer, and a gateway that sells it as `chat`. */
async function open (
  t: Test, protocol: 'openai' | 'anthropic' | 'gemini', answers: { status: number, body: object }[]
) {
  const bodies: string[] = []
  const server = createServer(keepOpen, async (exchange, response) => {
    bodies.push(Buffer.concat(await Array.fromAsync(exchange)).toString())
    const { status, body } = answers.shift() ?? { status: 500, body: {} }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const config = configFor(providerAt(`http://127.0.0.1:${port}/v1`, { protocol }))
  const gateway = await startGateway(t, { config, env: { TOLLGATE_ADMIN_KEY: adminKey } })

  async function post (fields = '') {
    const messages = '[{"role":"user","content":"Hi"}]'
    const answer = await request(`${gateway.url}/chat/completions`, {
      method: 'POST', headers: gateway.headers, body: `{"model":"chat","messages":${messages}${fields}}`
    })
    return { status: answer.statusCode, body: await answer.body.json() }
  }
  async function log () {
    const url = `${gateway.url.replace(/\/v1$/, '')}/admin/requests`
    const answer = await request(url, { headers: { authorization: `Bearer ${adminKey}` } })
    return { status: answer.statusCode, body: await answer.body.json() }
  }
  return { post, log, bodies }
}

const ofError = {
  openai: (name: string) => ({ error: { message: 'Refused.', code: name, type: name } }),
  anthropic: (name: string) => ({
    type: 'error', error: { type: name, message: 'Refused.', details: { error_code: name } }
  }),
  gemini: (name: string) => ({ error: { code: 400, message: 'Refused.', status: name } })
}

for (const protocol of ['openai', 'anthropic', 'gemini'] as const) {
  t.test(`${protocol}: an error's code may be the name of anything`, async t => {
    const answers = names.map(name => ({ status: 400, body: ofError[protocol](name) }))
    const { post, log } = await open(t, protocol, answers)
    for (const name of names) {
      t.match(await post(), { status: 400, body: { error: { message: 'Refused.' } } }, name)
    }
    const { status, body } = await log()
    t.equal(status, 200)
    t.match(body, { data: names.map(() => ({ attempts: [{ failure: 'bad_request' }] })) })
  })

  t.test(`${protocol}: so may a field of a request`, async t => {
    const answers = names.map(() => ({ status: 400, body: ofError[protocol]('x') }))
    const { post, bodies } = await open(t, protocol, answers)
    for (const name of names) t.match(await post(`,"${name}":5`), { status: 400 }, name)
    t.equal(bodies.length, names.length)
  })
}

t.test('so may a finish reason', async t => {
  const { post } = await open(t, 'openai', names.map(name => ({
    status: 200, body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: name }] }
  })))
  for (const name of names) {
    t.match(await post(), { status: 200, body: { choices: [{ message: { content: 'Hi' } }] } }, name)
  }
})

t.test('models and fields may have the name of anything', async t => {
  const models = names.flatMap(id => configFor(providerAt('http://127.0.0.1:9'), { id }).models)
  const config = { ...configFor(providerAt('http://127.0.0.1:9')), models, policies: builtInPolicies() }
  const { url, headers } = await startGateway(t, { config })
  const post = async (path: string, body: string) => await request(url + path, { method: 'POST', headers, body })
  const decision = await post('/routing/decisions', '{"model":"auto","messages":[{"role":"user","content":"Hi"}]}')
  t.equal(decision.statusCode, 200, await decision.body.text())
  for (const name of names) {
    const answer = await post('/responses', `{"model":"none","input":"Hi","${name}":1}`)
    const { error } = await answer.body.json() as { error: { param: unknown } }
    t.match([answer.statusCode, error.param], [400, name], name)
  }
})
