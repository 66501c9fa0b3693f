import t from 'tap'
import { until } from '../../helpers/until.ts'
import type { PluginCall, SettledRecord, TollgatePlugin } from '../../../services/extensions/types.ts'
import { apis, chargeNano, openPluginShop, prompt, streamedText } from './plugin-shop.ts'

function withText (call: PluginCall, change: (text: string) => string): PluginCall {
  if (call.kind === 'image') return call
  const messages = call.body.messages.map(message =>
    message.role === 'user' && typeof message.content === 'string' ? { ...message, content: change(message.content) } : message)
  return { kind: call.kind, body: { ...call.body, messages } }
}

for (const [name, { path, body, textOf }] of Object.entries(apis)) {
  for (const stream of [false, true]) {
    t.test(`a plugin changes requests and responses of ${name}, ${stream ? 'streamed' : 'whole'}`, async t => {
      const settled: SettledRecord[] = []
      const attempts: unknown[] = []
      const plugin: TollgatePlugin = {
        name: 'redact',
        request: call => withText(call, text => text.replace('4111', '[card]')),
        attempt: async (call, next) => { attempts.push({ ...call, ...await next() }) },
        chunk: piece => ({
          ...piece,
          choices: piece.choices.map(({ delta, ...choice }) => ({
            ...choice,
            delta: delta.content == null ? delta : { ...delta, content: delta.content.toUpperCase() }
          }))
        }),
        response: completion => ({
          ...completion,
          choices: completion.choices.map(choice => ({
            ...choice, message: { ...choice.message, content: choice.message.content?.toUpperCase() ?? null }
          }))
        }),
        settled: record => { settled.push(record) }
      }
      const shop = await openPluginShop(t, [plugin])
      const response = await shop.post(path, { ...body, ...stream && { stream } })
      t.equal(response.status, 200, response.text)
      t.equal(stream ? streamedText(response.text) : textOf(response.json()), 'YOUR CARD IS SAFE.')
      t.equal(response.headers['x-tollgate-plugins'], 'redact')
      t.match((await shop.upstream.nextRequest()).body, { messages: [{ role: 'user', content: prompt.replace('4111', '[card]') }] })
      t.match(attempts, [{ provider: 'up', model: 'gpt-5-nano', isStream: stream }])
      const line = await shop.gateway.line(({ msg }) => msg === 'request')
      t.match(line, { plugins: ['redact'] })
      await shop.gateway.app.flushRequestLog()
      t.match(await shop.gateway.app.store.all('select plugins from request_log'), [{ plugins: 'redact' }])
      t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 })
      t.match(settled, [{ kind: 'chat', account: 'default', costUsd: '0.0008', usage: { prompt: 300, completion: 50 }, isStream: stream, plugins: ['redact'] }])
    })

    t.test(`a plugin answers ${name} without a call, ${stream ? 'streamed' : 'whole'}`, async t => {
      const shop = await openPluginShop(t, [{ name: 'faq', request: (_call, context) => context.answer('See the FAQ.') }])
      const response = await shop.post(path, { ...body, ...stream && { stream } })
      t.equal(response.status, 200, response.text)
      t.equal(stream ? streamedText(response.text) : textOf(response.json()), 'See the FAQ.')
      t.equal(response.headers['x-tollgate-plugins'], 'faq;responded')
      t.equal(shop.upstream.requests.length, 0)
      t.same(await shop.books(), { spentNano: 0, heldNano: 0 })
    })

    t.test(`a plugin rejects ${name} before money is held, ${stream ? 'streamed' : 'whole'}`, async t => {
      const shop = await openPluginShop(t, [{ name: 'guard', request: (_call, { reject }) => reject(403, 'No cards.', 'no_cards') }])
      const response = await shop.post(path, { ...body, ...stream && { stream } })
      t.equal(response.status, 403)
      t.match(response.json().error, { message: 'No cards.' })
      t.equal(response.headers['x-tollgate-plugins'], 'guard;rejected')
      t.equal(shop.upstream.requests.length, 0)
      t.same(await shop.books(), { spentNano: 0, heldNano: 0 })
    })

    t.test(`a plugin that reads whole responses gets those of ${name}, ${stream ? 'streamed' : 'whole'}, and what it rejects is charged`, async t => {
      const seen: unknown[] = []
      const shop = await openPluginShop(t, [{
        name: 'guard',
        response (completion, { reject }) {
          seen.push(completion.choices[0]?.message.content)
          reject(451, 'Not here.', 'unsafe')
        }
      }])
      const response = await shop.post(path, { ...body, ...stream && { stream } })
      t.same(seen, ['Your card is safe.'])
      t.notMatch(response.text, 'Your ')
      t.match(response.text, 'Not here.')
      t.equal(response.status, stream ? 200 : 451)
      t.match(await shop.gateway.line(({ msg }) => msg === 'request'), { plugins: ['guard;rejected'] })
      t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 })
    })
  }
}

t.test('a plugin that reads chunks alone gets whole responses too', async t => {
  for (const { path, body, textOf } of Object.values(apis)) {
    const shop = await openPluginShop(t, [{
      name: 'chunks',
      chunk: piece => JSON.parse(JSON.stringify(piece).replace('safe', 'SAFE'))
    }, { name: 'none', chunk: () => {} }])
    const response = await shop.post(path, body)
    t.equal(textOf(response.json()), 'Your card is SAFE.', path)
    t.equal(response.headers['x-tollgate-plugins'], 'chunks, none')
    t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 })
  }
  const holding = await openPluginShop(t, [{ name: 'hold', chunk: () => null }])
  const response = await holding.post(apis.chat.path, apis.chat.body)
  t.match(response.json(), { choices: [{ message: { content: null } }], usage: { prompt_tokens: 300 } })
})

t.test('plugins run in the listed order, each with what the one before has returned', async t => {
  const add = (name: string): TollgatePlugin => ({ name, request: call => withText(call, text => `${text} ${name}`) })
  const shop = await openPluginShop(t, [add('first'), add('second')])
  const response = await shop.post(apis.chat.path, apis.chat.body)
  t.equal(response.headers['x-tollgate-plugins'], 'first, second')
  t.match((await shop.upstream.nextRequest()).body, { messages: [{ content: `${prompt} first second` }] })
})

t.test('images and videos have the hooks request and settled', async t => {
  const settled: SettledRecord[] = []
  const shop = await openPluginShop(t, [{
    name: 'pictures',
    request (call) {
      if (call.kind === 'image') return { kind: 'image', body: { ...call.body, prompt: 'a cat', size: '64x64' } }
      return JSON.parse(JSON.stringify(call).replace('a person', 'a dog'))
    },
    settled: record => { settled.push(record) }
  }])
  const image = await shop.post('/images/generations', { model: 'sandbox-image', prompt: 'a person' })
  t.equal(image.status, 200, image.text)
  t.equal(image.headers['x-tollgate-plugins'], 'pictures')
  const video = await shop.post('/videos', { model: 'sandbox-video', prompt: 'a person' })
  t.equal(video.status, 200, video.text)
  t.equal(video.headers['x-tollgate-plugins'], 'pictures')
  t.equal(video.json().prompt, 'a dog')
  const long = await shop.post('/chat/completions', { model: 'sandbox-video', messages: [{ role: 'user', content: 'a bird' }] })
  t.equal(long.status, 200, long.text)
  t.equal(long.headers['x-tollgate-plugins'], 'pictures')
  // The two videos end in any order, after their requests.
  await until(() => settled.length === 3)
  t.match(settled.map(({ kind, costUsd }) => ({ kind, costUsd })), [{ kind: 'image' }, { kind: 'video' }, { kind: 'video' }])
  await until(async () => (await shop.books()).heldNano === 0)
  t.ok(settled.every(({ costUsd }) => Number(costUsd) > 0))
})

for (const [path, body] of [
  ['/images/generations', { model: 'sandbox-image', prompt: 'a person' }], ['/videos', { model: 'sandbox-video', prompt: 'a person' }]
] as const) {
  t.test(`a plugin rejects a request to ${path}`, async t => {
    const shop = await openPluginShop(t, [{ name: 'guard', request: (_call, { reject }) => reject(400, 'No persons.') }])
    const response = await shop.post(path, body)
    t.equal(response.status, 400)
    t.match(response.json(), { error: { message: 'No persons.', code: 'plugin_rejected' } })
    t.same(await shop.books(), { spentNano: 0, heldNano: 0 })
  })
}
