import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ChatCompletion, ChatCompletionChunk, PluginCall, TollgatePlugin } from '../../../services/extensions/types.ts'
import { apis, chargeNano, openPluginShop, prompt, streamedText } from './plugin-shop.ts'

const text = 'Your card is safe.'

/** A value for a hook whose type forbids it, as a plugin in JavaScript may return it. */
function wrong<Expected> (value: unknown): Expected {
  return value as Expected
}

const chunkHead = { id: '', object: 'chat.completion.chunk', created: 1, model: '' }
const circular: Record<string, unknown> = {}
circular.self = circular

/** What each hook does; `never` hangs. */
const misdeeds: Record<string, () => unknown> = {
  throws: () => { throw new Error('a secret of the plugin') },
  // eslint-disable-next-line prefer-promise-reject-errors -- what a hostile plugin does
  'rejects with undefined': () => Promise.reject(undefined),
  hangs: () => new Promise(() => {}),
  'returns a number': () => 5,
  'returns an empty object': () => ({}),
  'returns what is circular': () => circular,
  'returns a bigint': () => ({ kind: 'chat', body: { model: 'chat', messages: [], n: 5n } }),
  'returns a thenable that throws': () => ({ get then () { throw new Error('then') } }),
  'returns 10 MB of one chunk': () => ({ ...chunkHead, choices: [{ index: 0, finish_reason: null, delta: { content: 'x'.repeat(1e7) } }] })
}

const cases: Record<'request' | 'chunk' | 'response' | 'attempt', (misdeed: () => unknown) => Partial<TollgatePlugin>> = {
  request: misdeed => ({ request: () => wrong<PluginCall>(misdeed()) }),
  chunk: misdeed => ({
    chunk: () => wrong<ChatCompletionChunk>(misdeed()), response: () => wrong<ChatCompletion>(misdeed())
  }),
  response: misdeed => ({ response: () => wrong<ChatCompletion>(misdeed()) }),
  attempt: misdeed => ({ attempt: () => misdeed() })
}

/** A shop whose plugin does what `current` says, and the books since the last look. */
async function openMisdeedShop (t: Test, hook: keyof typeof cases, onError: 'fail' | 'skip') {
  let current: () => unknown = () => {}
  const plugin: TollgatePlugin = { name: 'bad', onError, timeoutMs: 30, ...cases[hook](() => current()) }
  const shop = await openPluginShop(t, [{ name: 'good', response: () => {} }, plugin])
  let before = 0
  return {
    async post (misdeed: () => unknown, path: string, body: object) {
      current = misdeed
      const calls = shop.upstream.requests.length
      const response = await shop.post(path, body)
      const id = response.headers['x-request-id']
      const line = await shop.gateway.line(({ msg, reqId }) => msg === 'request' && reqId === id)
      const { spentNano, heldNano } = await shop.books()
      const paidNano = spentNano - before
      before = spentNano
      return { ...response, line, paidNano, heldNano, calls: shop.upstream.requests.length - calls }
    }
  }
}

const hookNames = ['request', 'chunk', 'response', 'attempt'] as const

for (const [api, { path, body, textOf }] of Object.entries(apis)) {
  for (const stream of [false, true]) {
    t.test(`hostile plugins lose no money of ${api}, ${stream ? 'streamed' : 'whole'}, and are named`, async t => {
      for (const hook of hookNames) {
        const shop = await openMisdeedShop(t, hook, 'fail')
        const isAfter = hook === 'chunk' || hook === 'response'
        for (const [what, misdeed] of Object.entries(misdeeds)) {
          const response = await shop.post(misdeed, path, { ...body, ...stream && { stream } })
          const says = `${hook} ${what}`
          t.equal(response.status, stream && isAfter ? 200 : 500, says)
          t.match(response.text, 'The plugin `bad` of this gateway has failed.', says)
          t.notMatch(response.text, /a secret|card is safe/, says)
          t.match(response.line, { code: 'plugin_failed' }, says)
          t.match(String(response.line.plugins), /bad;(failed|timeout)/, says)
          t.equal(response.calls, isAfter ? 1 : 0, says)
          t.equal(response.heldNano, 0, says)
          // A stream that is cut short is charged for what had come.
          const isCut = stream && hook === 'chunk'
          if (isCut) t.ok(response.paidNano > 0 && response.paidNano <= chargeNano, says)
          else t.equal(response.paidNano, isAfter ? chargeNano : 0, says)
        }
      }
    })

    t.test(`hostile plugins of ${api}, ${stream ? 'streamed' : 'whole'}, can be skipped`, async t => {
      for (const hook of hookNames) {
        const shop = await openMisdeedShop(t, hook, 'skip')
        for (const [what, misdeed] of Object.entries(misdeeds)) {
          const response = await shop.post(misdeed, path, { ...body, ...stream && { stream } })
          const says = `${hook} ${what}`
          t.equal(response.status, 200, says)
          t.equal(stream ? streamedText(response.text) : textOf(response.json()), text, says)
          t.match(String(response.line.plugins), /bad;skipped/, says)
          t.equal(response.paidNano, chargeNano, says)
          t.equal(response.heldNano, 0, says)
        }
      }
    })
  }
}

t.test('a plugin cannot change later what it got or returned', async t => {
  const seen: object[] = []
  const shop = await openPluginShop(t, [{
    name: 'late',
    request (call) {
      seen.push(call)
      if (call.kind !== 'chat') return call
      const changed = { kind: 'chat' as const, body: { ...call.body, user: 'one' } }
      seen.push(changed.body)
      setImmediate(() => {
        for (const one of seen) Object.assign(one, { body: null, messages: [], model: 'x', user: 'two' })
      })
      return changed
    },
    async attempt (call, next) {
      Object.assign(call, { provider: 'x', model: 'x' })
      Object.assign(await next(), { usage: { prompt: 1, completion: 1 } })
    },
    response (completion) {
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      setImmediate(() => Object.assign(completion, { choices: [] }))
      return { ...completion, usage }
    },
    settled: record => { Object.assign(record, { costUsd: '0', plugins: [] }) }
  }])
  const response = await shop.post(apis.chat.path, apis.chat.body)
  const counted = { prompt_tokens: 300, completion_tokens: 50, cost: 0.0008 }
  t.match(response.json(), { choices: [{ message: { content: text } }], usage: counted })
  t.match((await shop.upstream.nextRequest()).body, { user: 'one', messages: [{ content: prompt }], model: 'gpt-5-nano' })
  t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 })
})

const decisions: [string, TollgatePlugin['request'], number, string][] = [
  ['answers twice', (_call, context) => {
    try {
      context.answer('first')
    } catch {}
    return context.answer('second')
  }, 200, 'first'],
  ['rejects after an answer', (_call, context) => {
    try {
      context.answer('first')
    } catch {}
    return context.reject(400, 'no')
  }, 200, 'first'],
  ['answers after a rejection, and returns', (call, context) => {
    try {
      context.reject(418, 'first')
    } catch {}
    try {
      context.answer('second')
    } catch {}
    return call
  }, 418, 'first'],
  ['answers and throws', (_call, context) => {
    try {
      context.answer('first')
    } finally {
      // eslint-disable-next-line no-unsafe-finally -- what a hostile plugin does
      throw new Error('after the decision')
    }
  }, 200, 'first'],
  ['rejects with a status of success', (_call, context) => context.reject(200, 'fine'), 500, 'has failed'],
  ['answers with nonsense', (_call, context) => context.answer(wrong<string>({ choices: 5 })), 500, 'has failed'],
  ['answers without a choice', (_call, context) => context.answer(wrong<string>({ choices: [] })), 500, 'has failed'],
  ['changes whether the response is streamed', call => call.kind === 'chat' ? { kind: 'chat', body: { ...call.body, stream: true } } : call, 500, 'has failed'],
  ['selects a model that does not exist', call => call.kind === 'chat' ? { kind: 'chat', body: { ...call.body, model: 'x' } } : call, 404, 'does not exist']
]
for (const [what, request, status, message] of decisions) {
  t.test(`a plugin that ${what}: the first decision counts`, async t => {
    const shop = await openPluginShop(t, [{ name: 'torn', ...request && { request } }])
    const response = await shop.post(apis.chat.path, apis.chat.body)
    t.equal(response.status, status, response.text)
    t.match(response.text, message)
    t.equal(shop.upstream.requests.length, 0)
    t.same(await shop.books(), { spentNano: 0, heldNano: 0 })
  })
}

t.test('a hook around a call changes nothing of its outcome', async t => {
  const late = Promise.withResolvers<() => Promise<unknown>>()
  const hooks: Record<string, TollgatePlugin['attempt']> = {
    'calls twice': async (_call, next) => { await Promise.all([next(), next()]) },
    'throws after the call': async (_call, next) => { await next(); throw new Error('late') },
    'rejects after the call': async (_call, next, context) => { await next(); context.reject(400, 'late') },
    'calls without waiting': (_call, next) => { next().catch(() => {}) }
  }
  for (const [what, attempt] of Object.entries(hooks)) {
    const shop = await openPluginShop(t, [{ name: 'around', ...attempt && { attempt } }])
    const response = await shop.post(apis.chat.path, apis.chat.body)
    t.equal(response.status, 200, what)
    t.equal(shop.upstream.requests.length, 1, what)
    t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 }, what)
  }
  const shop = await openPluginShop(t, [{ name: 'around', onError: 'skip', attempt: (_call, next) => { late.resolve(next) } }])
  t.equal((await shop.post(apis.chat.path, apis.chat.body)).status, 200)
  await t.rejects((await late.promise)(), { message: 'The attempt is over.' })
  t.equal(shop.upstream.requests.length, 1)
})

t.test('a failure of the provider stays its own, and is retried as usual', async t => {
  const failures: unknown[] = []
  const shop = await openPluginShop(t, [{
    name: 'around',
    async attempt (_call, next) {
      try {
        await next()
      } catch (error) {
        failures.push(error)
        throw error
      }
    }
  }])
  const { refusal } = await import('../../servers/upstream.ts')
  shop.upstream.script(refusal(429))
  const response = await shop.post(apis.chat.path, apis.chat.body)
  t.equal(response.status, 429)
  t.match(failures, [{ name: 'ProviderError', status: 429 }])
  t.equal(response.headers['x-tollgate-plugins'], 'around')
  t.same(await shop.books(), { spentNano: 0, heldNano: 0 })
})

t.test('a plugin that fails at images and videos leaves nothing held', async t => {
  for (const misdeed of [misdeeds.throws, misdeeds.hangs, misdeeds['returns an empty object']]) {
    const shop = await openPluginShop(t, [{ name: 'bad', timeoutMs: 30, request: () => wrong<PluginCall>(misdeed?.()) }])
    for (const [path, body] of [
      ['/images/generations', { model: 'sandbox-image', prompt: 'a cat' }], ['/videos', { model: 'sandbox-video', prompt: 'a cat' }],
      ['/chat/completions', { ...apis.chat.body, model: 'sandbox-video' }]
    ] as const) {
      const response = await shop.post(path, body)
      t.equal(response.status, 500, path)
      t.match(response.json().error, { code: 'plugin_failed' })
      t.match(response.headers['x-tollgate-plugins'], /bad;(failed|timeout)/)
    }
    t.same(await shop.books(), { spentNano: 0, heldNano: 0 })
  }
})

t.test('a failing hook after the charge changes nothing, and is logged', async t => {
  const shop = await openPluginShop(t, [{ name: 'late', timeoutMs: 30, settled: () => new Promise(() => {}) }, {
    name: 'later', settled () { throw new Error('settled') }
  }])
  t.equal((await shop.post(apis.chat.path, apis.chat.body)).status, 200)
  t.match(await shop.gateway.line(({ plugin }) => plugin === 'late'), { hook: 'settled', msg: 'a hook of a plugin has failed' })
  await shop.gateway.line(({ plugin }) => plugin === 'later')
  t.same(await shop.books(), { spentNano: chargeNano, heldNano: 0 })
})

t.test('what escapes from a plugin is logged with its name, and does not end the process', async t => {
  const shop = await openPluginShop(t, [{
    name: 'leaky',
    request () {
      Promise.reject(new Error('a rejection'))
      setTimeout(() => { throw new Error('a timer') }, 5)
      sleep(10).then(() => { throw new Error('a late rejection') })
    }
  }])
  t.equal((await shop.post(apis.chat.path, apis.chat.body)).status, 200)
  for (const message of ['a rejection', 'a timer', 'a late rejection']) {
    const isIt = ({ plugin, err }: Record<string, unknown>) => plugin === 'leaky' && JSON.stringify(err).includes(`"${message}"`)
    t.match(await shop.gateway.line(isIt), { msg: 'an error has escaped from a plugin', hook: 'request' })
  }
})
