import { request } from 'undici'
import t, { type Test } from 'tap'
import { isObject, type JsonObject } from '../../services/shared/json.ts'
import type { ModelConfig } from '../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { reply, reset, startUpstream, type Script } from '../servers/upstream.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const picture = 'data:image/png;base64,iVBORw0KGgo='

/** A response of a server with a content, in one piece or as the deltas of a stream. */
function withContent (pieces: readonly unknown[], whole: unknown, reason = 'stop'): Script {
  return reply({}, {
    completion: ({ choices: _, ...head }) => ({
      ...head, choices: [{ index: 0, message: { role: 'assistant', content: whole }, finish_reason: reason }]
    }),
    chunks: ([first]) => [
      ...pieces.map(content =>
        ({ ...first, choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
      { ...first, choices: [{ index: 0, delta: {}, finish_reason: reason }] }
    ]
  })
}

async function openShop (t: Test, model = 'chat', more: Partial<ModelConfig> = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const base = configFor(providerAt(upstream.url, { dialect: 'compatible' }))
  const models = base.models.map(one => ({
    ...one, ...more, deployments: one.deployments.map(deployment => ({ ...deployment, model }))
  }))
  const gateway = await startGateway(t, { config: { ...base, models } })
  return {
    async post (script: Script, stream: boolean, path = '/chat/completions', body: object = { messages }) {
      upstream.script(script)
      const response = await request(`${gateway.url}${path}`, {
        method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', stream, ...body })
      })
      return { status: response.statusCode, text: await response.body.text() }
    }
  }
}

/** The message of a response, or of its stream put together, and its finish reason. */
function messageIn (text: string): JsonObject {
  if (text.startsWith('{')) {
    const { message, finish_reason: reason } = JSON.parse(text).choices[0]
    return { ...message, reason }
  }
  const whole: JsonObject = {}
  for (const line of text.split('\n').filter(line => line.startsWith('data: {'))) {
    const [choice] = JSON.parse(line.slice(6)).choices ?? []
    if (isObject(choice) && choice.finish_reason != null) whole.reason = choice.finish_reason
    for (const [name, value] of Object.entries(Object(choice?.delta))) {
      if (typeof value === 'string') whole[name] = String(whole[name] ?? '') + value
      else if (Array.isArray(value)) whole[name] = [whole[name] ?? [], value].flat()
      else if (value !== null) whole[name] = value
    }
  }
  return whole
}

const parts: Record<string, { part: JsonObject, seen: JsonObject }> = {
  'a picture as a URL': {
    part: { type: 'image_url', image_url: { url: picture } },
    seen: { images: [{ type: 'image_url', image_url: { url: picture } }] }
  },
  'a picture as Anthropic has it': {
    part: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
    seen: { images: [{ type: 'image_url', image_url: { url: picture } }] }
  },
  'a refusal': { part: { type: 'refusal', refusal: 'No.' }, seen: { refusal: 'No.' } },
  thoughts: { part: { type: 'thinking', thinking: 'Hm.' }, seen: { reasoning_content: 'Hm.' } },
  reasoning: { part: { type: 'reasoning', text: 'Hm.' }, seen: { reasoning_content: 'Hm.' } },
  'a text': { part: { type: 'output_text', text: '!' }, seen: { content: 'Here!' } },
  sound: {
    part: { type: 'audio', audio: { id: 'a1', data: 'UklGRg==', transcript: 'Hi' } },
    seen: { audio: { id: 'a1', data: 'UklGRg==', transcript: 'Hi' } }
  }
}

for (const [name, { part, seen }] of Object.entries(parts)) {
  t.test(`${name} in a list of parts arrives where OpenAI has it`, async t => {
    const { post } = await openShop(t)
    const text = { type: 'text', text: 'Here' }
    for (const stream of [false, true]) {
      const { text: body } = await post(withContent([[text], [part]], [text, part]), stream)
      t.match(messageIn(body), { content: 'Here', ...seen, reason: 'stop' }, stream ? 'streamed' : 'whole')
    }
  })
}

t.test('thoughts between tags are reasoning, wherever the stream is cut', async t => {
  const { post } = await openShop(t, 'MiniMaxAI/MiniMax-M2')
  const said = '<think>\nIs 1 < 2? </thin\n</think>\n\nYes, 1 < 2 </think>'
  const seen = { content: 'Yes, 1 < 2 </think>', reasoning_content: '\nIs 1 < 2? </thin\n' }
  t.match(messageIn((await post(withContent([], said), false)).text), seen)
  for (const length of [1, 3, 7, 20, 100]) {
    const pieces = said.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []
    t.match(messageIn((await post(withContent(pieces, said), true)).text), { ...seen, reason: 'stop' }, `${length}`)
  }
  t.match(messageIn((await post(withContent(['<th', 'ree>'], ''), true)).text), { content: '<three>' })
  t.match(messageIn((await post(withContent(['<thi'], ''), true)).text), { content: '<thi' }, 'only a part of a tag')
  t.match(messageIn((await post(withContent(['<think>a</th'], ''), true)).text), { reasoning_content: 'a</th' })
})

t.test('other models may write tags', async t => {
  const { post } = await openShop(t, 'gpt-5')
  const { text } = await post(withContent([], '<think>a</think>b'), false)
  t.match(messageIn(text), { content: '<think>a</think>b' })
})

t.test('an operator says of a model whether it writes its thoughts between tags', async t => {
  const said = '<think>a</think>b'
  for (const [model, thinkTags, seen] of [
    ['my-tuned-model', true, { content: 'b', reasoning_content: 'a' }],
    ['deepseek-r1', false, { content: said }]
  ] as const) {
    const { post } = await openShop(t, model, { thinkTags })
    for (const stream of [false, true]) {
      t.match(messageIn((await post(withContent([said], said), stream)).text), seen, model)
    }
  }
})

t.test('an unknown finish reason is not the end of a turn', async t => {
  const { post } = await openShop(t)
  for (const stream of [false, true]) {
    const body = async (reason: string) => messageIn((await post(withContent(['Hi'], 'Hi', reason), stream)).text)
    t.match(await body('pause_turn'), { content: 'Hi', reason: 'length' })
    t.match(await body('COMPLETE'), { content: 'Hi', reason: 'stop' })
    t.match(await body('null'), { content: 'Hi', reason: 'stop' })
  }
})

t.test('an error with status 200 has the provider\'s words, and no status that it did not state', async t => {
  const { post } = await openShop(t)
  for (const error of [{ error: { code: 'error', message: 'The queue is gone.' } }, { detail: 'The queue is gone.' }]) {
    const script = reply({}, { completion: () => error, chunks: ([first]) => [first, error] })
    for (const stream of [false, true]) {
      const { text } = await post(script, stream)
      t.match(text, 'The provider failed: The queue is gone.')
      t.notMatch(text, 'HTTP')
    }
  }
})

t.test('a connection that breaks after text was reached before', async t => {
  const { post } = await openShop(t)
  const { text } = await post(reply({}, { cut: pieces => pieces.slice(0, 3), end: reset }), true)
  t.match(text, 'The connection to the provider broke.')
  t.notMatch(text, 'cannot be reached')
})
