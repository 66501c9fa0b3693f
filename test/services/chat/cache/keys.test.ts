import t from 'tap'
import { createCachedResponses } from '../../../../services/chat/cache/cached-responses.ts'
import { isDeterministic, requestKey } from '../../../../services/chat/cache/request-key.ts'

const request = { model: 'm', temperature: 0, messages: [{ role: 'user', content: 'Hello' }] }
const key = (more: object = {}, account = 'a') => {
  return requestKey({ account, endpoint: 'chat', request: { ...request, ...more } })
}

t.test('requests that mean the same have one key, whoever sends them and in whatever order', async t => {
  const { messages, model, temperature } = request
  t.equal(requestKey({ account: 'a', endpoint: 'chat', request: { messages, temperature, model } }), key())
  t.equal(key({ user: 'someone' }), key())
})

t.test('requests that differ in anything else have different ones', async t => {
  const others = [
    {}, { stream: true }, { seed: 1 }, { seed: '1' }, { model: 'n' }, { unknown: 1 }, { n: 1 }, { messages: [] },
    { tools: [{ a: 1, b: 2 }] }, { tools: [{ a: 2, b: 1 }] }, { tools: [[1], 2] }, { tools: [[1, 2]] },
    { metadata: {} }
  ]
  const keys = [
    ...others.map(other => key(other)), key({}, 'b'), requestKey({ account: 'a', endpoint: 'completions', request })
  ]
  t.equal(new Set(keys).size, keys.length)
})

t.test('what is left to chance is told by the request', async t => {
  t.ok(isDeterministic({ temperature: 0 }))
  t.ok(isDeterministic({ seed: 0 }))
  t.notOk(isDeterministic({}))
  t.notOk(isDeterministic({ temperature: 0.1, seed: null }))
})

t.test('answers never take more than they may, and the least used one goes first', async t => {
  const answers = createCachedResponses(80_000)
  const answer = (bytes: number) => ({
    kind: 'json' as const,
    isNative: false,
    bytes: new Uint8Array(bytes),
    headers: {},
    model: 'm',
    provider: 'p',
    upstreamModel: 'u',
    atMs: 0
  })
  answers.set('too long', answer(answers.maxResponseBytes + 1), 60_000)
  t.equal(answers.get('too long'), undefined)
  for (let i = 0; i < 50; i++) {
    answers.set(`k${i}`, answer(4000), 60_000)
    t.ok(answers.get('k0'), 'used all the time')
    t.ok(answers.bytes <= 80_000)
  }
  t.notOk(answers.get('k1'))
  t.ok(answers.get('k49'))
})
