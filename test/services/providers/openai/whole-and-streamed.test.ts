import t from 'tap'
import { dialects } from '../../../../services/providers/openai/dialects.ts'
import { collectStream } from '../../../../services/providers/openai/whole-and-streamed.ts'
import { rejection } from '../../../helpers/thrown.ts'

const dialect = dialects['compatible']
if (dialect === undefined) throw new Error('there is no such dialect')
const fallback = { id: 'chatcmpl-0', object: 'chat.completion.chunk', created: 0, model: 'm' }
const form = { dialect, secret: null, hideUsage: false, fallback, choices: 1 }

/** An event with a piece of the message; `delta` is JSON. */
const piece = (delta: string, reason: string | null = null): string =>
  `data: {"id":"x","choices":[{"index":0,"delta":${delta},"finish_reason":${JSON.stringify(reason)}}]}\n\n`

const stream = piece('{"role":"assistant","content":"a"}') + piece('{"content":"b"}', 'stop')
const whole = { choices: [{ index: 0, message: { role: 'assistant', content: 'ab' }, finish_reason: 'stop' }] }

t.test('a stream is collected, whatever is around its events', async t => {
  const texts: Record<string, string> = {
    'as OpenAI sends it': `${stream}data: [DONE]\n\n`,
    'white space before it': `  \n\n \ufeff${stream}`,
    'white space after it': `${stream}data: [DONE]  \n  `,
    'other line ends, and no empty line at the end': stream.trimEnd().replaceAll('\n', '\r\n'),
    'half of a line end at the end': `${stream.trimEnd()}\r`
  }
  for (const [name, text] of Object.entries(texts)) t.match(await collectStream(text, form), whole, name)
})

t.test('members with the name of a prototype change no other object', async t => {
  const odd = '{"polluted":true}'
  const text = `data: {"__proto__":${odd},"choices":[{"index":0,"__proto__":${odd},"delta":{"content":"a"}}]}\n\n` +
    piece(`{"content":"b","__proto__":${odd},"constructor":{"prototype":${odd}}}`, 'stop')
  t.match(await collectStream(text, form), whole)
  t.equal(Reflect.get({}, 'polluted'), undefined)
})

t.test('members that are nested too deeply are a bad reply', async t => {
  const deep = `{"content":"a","odd":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`
  const error = await rejection(collectStream(piece(deep) + piece(deep, 'stop'), form))
  t.match(error, { name: 'UpstreamError', message: /nested too deeply/ })
})
