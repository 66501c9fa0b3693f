import { join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import { createGateway, defineConfig, definePlugin, defineProvider, ProviderError, tollgate } from '../../lib/index.ts'
import { testGateway, text } from '../../lib/testing.ts'

/** Hides card numbers, and brings a provider that repeats the prompt. */
const pii = definePlugin({
  name: 'pii',
  request (call) {
    return JSON.parse(JSON.stringify(call).replace(/\b\d{16}\b/g, '[card]'))
  },
  providers: {
    echo: defineProvider({
      async * chat ({ body }) {
        const { content } = body.messages.at(-1) ?? {}
        if (content === 'fail') throw new ProviderError(400, 'Not this.', { code: 'not_this' })
        yield { type: 'text', text: String(content) }
        yield { type: 'usage', prompt: 3, completion: 3 }
      }
    })
  }
})

const config = defineConfig({
  providers: [{ id: 'mine', protocol: 'echo' }],
  models: [{ id: 'parrot', provider: 'mine', price: { input: 1, output: 2 } }]
})

const chat = (key: string, content: string, url = '/v1/chat/completions') => ({
  method: 'POST', url, headers: { authorization: `Bearer ${key}` }, payload: { model: 'parrot', messages: [{ role: 'user', content }] }
} as const)

const card = 'Pay with 4111111111111111.'
const redacted = { choices: [{ message: { content: 'Pay with [card].' } }], usage: { cost: 0.000009 } }

t.test('createGateway takes plugins as objects, and their protocols in the configuration', async t => {
  let key = ''
  const env = { TOLLGATE_STARTING_CREDIT: '1' }
  const gateway = await createGateway({ config, plugins: [pii], env, database: 'sqlite::memory:', onFirstKey: first => { key = first } })
  t.teardown(() => gateway.close())
  const response = await gateway.inject(chat(key, card))
  t.match(response.json(), redacted)
  t.equal(response.headers['x-tollgate-plugins'], 'pii')
  const failed = await gateway.inject(chat(key, 'fail'))
  t.match([failed.statusCode, failed.json()], [400, { error: { message: 'Not this.', code: 'not_this' } }])
})

t.test('an app embeds a gateway with plugins', async t => {
  let key = ''
  const app = Fastify({ pluginTimeout: 0 })
  t.teardown(() => app.close())
  const env = { TOLLGATE_STARTING_CREDIT: '1' }
  await app.register(tollgate, {
    prefix: '/ai', config, plugins: [pii], env, database: 'sqlite::memory:', media: join(t.testdir(), 'media'), onFirstKey: first => { key = first }
  })
  t.match((await app.inject(chat(key, card, '/ai/v1/chat/completions'))).json(), redacted)
})

t.test('testGateway runs the hooks of plugins, and their providers play its script', async t => {
  await using gateway = await testGateway({ config, plugins: [pii] })
  gateway.model('parrot').script([text('Thanks.').usage({ prompt: 10, completion: 1 })])
  t.match((await gateway.inject(chat(gateway.key, card))).json(), { choices: [{ message: { content: 'Thanks.' } }] })
  t.match(gateway.requests, [{ provider: 'mine', body: { messages: [{ content: 'Pay with [card].' }] } }])
  t.equal(await gateway.spent(), '0.000012')
})

t.test('the plugins of a configuration follow those of the app; paths begin at its file', async t => {
  const named = (name: string) => `export default { name: '${name}', request: () => {} }`
  const folder = t.testdir({ 'second.js': named('second'), 'gateway.yaml': 'plugins: [./second.js]\nproviders: [{ id: sandbox, protocol: sandbox }]\n' })
  const first = definePlugin({ name: 'first', request: () => {} })
  const use = join(folder, 'second.js')
  for (const config of [join(folder, 'gateway.yaml'), { plugins: [use], providers: [{ id: 'sandbox', protocol: 'sandbox' }] }]) {
    await using gateway = await testGateway({ config, plugins: [first] })
    const { headers } = await gateway.inject({ ...chat(gateway.key, 'Hi'), payload: { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hi' }] } })
    t.equal(headers['x-tollgate-plugins'], 'first, second')
  }
})

t.test('what is no plugin, a taken name and an absent protocol are refused at the start', async t => {
  const start = (plugins: object[], given: object = config) =>
    testGateway({ config: given, plugins: plugins as [] }).then(gateway => gateway.close())
  await t.rejects(start([pii, { name: 'x', onRequest () {} }]), { message: 'plugins[1] has an unknown hook `onRequest`' })
  await t.rejects(start([pii, pii]), { message: 'Two plugins have the name pii.' })
  await t.rejects(start([{ name: 'none' }]), /the provider mine has the protocol echo, which no plugin brings/)
  await t.rejects(start([]), /providers\[0\]\.protocol: must be one of openai, /)
})
