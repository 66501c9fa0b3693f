import t from 'tap'
import { measureTurns, startBeforeOddProvider, type OddAnswer } from '../hostile/odd-provider.ts'

/** The longest time for which the answer to one request may keep the event loop. */
const limitMs = 200
const mb = 1_000_000

const fill = (bytes: number, unit: string): string => unit.repeat(Math.ceil(bytes / unit.length))
const chunk = (delta: object): string => `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta }] })}\n\n`
const events = (count: number, one: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => one(at)).join('')

const json = (body: string): OddAnswer => ({ type: 'application/json', body })
const stream = (body: string): OddAnswer => ({ type: 'text/event-stream', body })

/** What a broken provider may send within the limits on bytes. */
const answers: Record<string, () => OddAnswer> = {
  'millions of objects': () => json(`{"choices":[${fill(10 * mb, '{},')}{}]}`),
  'millions of numbers': () => json(`{"choices":[${fill(10 * mb, '1,')}1]}`),
  'brackets that never close': () => json(fill(10 * mb, '[')),
  '24 MB of white space': () => json(fill(24 * mb, ' ')),
  'white space before a value': () => json(`{"choices":${fill(24 * mb, ' ')}[]}`),
  'a picture of 60 MB': () => json(`{"data":[{"b64_json":"${fill(60 * mb, 'AAAA')}"}]}`),
  'a text of 8 MB': () => json(`{"choices":[{"index":0,"message":{"role":"assistant","content":"${fill(8 * mb, 'word ')}"},"finish_reason":"stop"}]}`),
  'a text of 24 MB': () => json(`{"id":"x","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":"${fill(24 * mb, 'word ')}"},"finish_reason":"stop"}]}`),
  'a text of 24 MB, as of Claude': () => json(`{"id":"x","type":"message","role":"assistant","model":"up","content":[{"type":"text","text":"${fill(24 * mb, 'word ')}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1000}}`),
  'a text of 24 MB, as of Gemini': () => json(`{"candidates":[{"content":{"role":"model","parts":[{"text":"${fill(24 * mb, 'word ')}"}]},"finishReason":"STOP"}]}`),
  'the probabilities of 4,000 tokens': () => json(JSON.stringify({
    choices: [{
      index: 0,
      message: { role: 'assistant', content: 'x' },
      finish_reason: 'stop',
      logprobs: {
        content: Array(4_000).fill({ token: 'a', logprob: -1, bytes: [97], top_logprobs: Array(20).fill({ token: 'a', logprob: -1, bytes: [97] }) })
      }
    }]
  })),
  'objects without lines between them': () => stream(fill(8 * mb, 'data: {"choices":[]}')),
  'empty objects in one event': () => stream(`data: ${fill(8 * mb, '{}')}\n\n`),
  'millions of values in one event': () => stream(`data: {"choices":[${fill(8 * mb, '{},')}{}]}\n\n`),
  'braces in one event': () => stream(`data: ${fill(8 * mb, '{')}\n\n`),
  'lines of one event': () => stream(`${fill(8 * mb, 'data: 1\n')}\n`),
  'four hundred thousand small events': () => stream(fill(8 * mb, 'data: {"choices":[]}\n\n')),
  'four thousand tool calls': () => stream(events(4_000, index =>
    chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] }))),
  'four thousand pieces of text': () => stream(events(4_000, () => chunk({ content: 'word ' })) +
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
  'comments only': () => stream(fill(8 * mb, ': ping\n\n')),
  'line ends only': () => stream(fill(8 * mb, '\r\n'))
}

const image = JSON.stringify({ model: 'odd-image', prompt: 'x' })
const message = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 1_000 }
const surfaces = [
  { path: '/v1/chat/completions', model: 'odd-chat' },
  { path: '/v1/chat/completions', model: 'odd-claude' },
  { path: '/v1/chat/completions', model: 'odd-gemini' },
  { path: '/v1/messages', model: 'odd-claude' }
]

t.test('no answer of a provider keeps others waiting for long', async t => {
  const { gateway, answerWith } = await startBeforeOddProvider(t)
  const bodyOf = (model: string, stream: boolean): string => JSON.stringify({ ...message, model, stream })
  const exchange = (at: number, stream: boolean) => {
    const { path = '', model = '' } = surfaces[at] ?? {}
    return { path, body: bodyOf(model, stream) }
  }
  for (const [at] of surfaces.entries()) {
    for (const stream of [false, true]) {
      const { path, body } = exchange(at, stream)
      await (await gateway.send(path, body)).text()
    }
  }

  for (const [name, make] of Object.entries(answers)) {
    const answer = make()
    answerWith(answer)
    const isStream = answer.type === 'text/event-stream'
    // Compatible servers answer with the other form, too.
    const asked = [exchange(0, !isStream), ...surfaces.keys().map(at => exchange(at, isStream))]
    if (!isStream) asked.push({ path: '/v1/images/generations', body: image })
    for (const exchange of asked) {
      const { statuses, longestMs } = await measureTurns(gateway, exchange, limitMs)
      const what = `${name}, ${exchange.path}, ${exchange.body}`
      t.ok(statuses.every(status => [200, 502].includes(status)), `${what}: ${statuses}`)
      t.ok(Math.min(...longestMs) <= limitMs, `${what}: ${longestMs.map(Math.round).join(', ')} ms`)
    }
  }
  t.equal(gateway.process.child.exitCode, null, gateway.process.output().slice(-2000))
})
