import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { EventParser, eventsIn, maxEventBytes, type SseEvent } from '../../../../services/providers/upstream/sse.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { anyCharacter } from '../../../helpers/any-character.ts'

/** All events of a byte stream that arrives in pieces cut at the given places. */
function read (bytes: Buffer, cuts: readonly number[] = []) {
  const parser = new EventParser()
  const places = [0, ...cuts.map(cut => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  const batches = places.slice(1).map((to, at) => parser.push(Buffer.from(bytes.subarray(places[at], to))))
  return [...batches, parser.end()].flatMap(({ events }) => events)
}

const eventsOf = (text: string, cuts?: readonly number[]): SseEvent[] =>
  read(Buffer.from(text), cuts).map(({ event, data }) => ({ event, data }))

t.test('however a stream is cut and whatever its line ends, the events are the same', async () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 20 })
    .map(value => value.replace(/[\r\n\ud800-\udfff]/g, '')).filter(value => value.trim() !== '')
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const texts = fc.array(text, { minLength: 1, maxLength: 6 })
  fc.assert(fc.property(texts, end, fc.array(fc.nat(), { maxLength: 12 }), (texts, newline, cuts) => {
    const stream = texts.map(data => `data: ${data}${newline}${newline}`).join('')
    const events = read(Buffer.from(stream), cuts)
    const isAsItCame = events.every(({ bytes, data, isPlain }) => isPlain && `data: ${data}\n\n` === bytes.toString())
    return isDeepStrictEqual(events.map(({ data }) => data), texts) && isAsItCame
  }), { numRuns: 500 })
})

const odd: Record<string, [stream: string, events: [event: string, data: string][]]> = {
  'comments, names, several data lines and a missing space':
    [': ping\n\nevent: error\ndata: a\ndata:b\n\nid: 3\n\ndata: c\n\n', [['error', 'a\nb'], ['message', 'c']]],
  'events without data': ['data:\n\ndata\n\ndata: \n\nevent: ping\ndata:\n\ndata: 1\n\n', [['message', '1']]],
  'an error event needs none': ['event: error\ndata:\n\n', [['error', '']]],
  'a line of its own for an error': ['error: {"code":400}\n\ndata: 1\n\n', [['error', '{"code":400}'], ['message', '1']]],
  'the same, before data of one block': ['error: a\ndata: b\n\n', [['error', 'a'], ['message', 'b']]],
  'id, retry and unknown fields': ['id: 1\nretry: 5\nfoo: bar\ndata: 1\n\n', [['message', '1']]],
  'a last event without its empty line': ['data: 1\n\ndata: 2\n', [['message', '1'], ['message', '2']]],
  'a last event without its line end': ['data: 1\n\ndata: 2', [['message', '1'], ['message', '2']]],
  'a byte order mark': ['\ufeffdata: 1\n\ndata: \ufeff2\n\n', [['message', '1'], ['message', '\ufeff2']]],
  'a byte order mark and nothing else': ['\ufeff', []]
}
for (const [what, [stream, expected]] of Object.entries(odd)) {
  t.test(`${what} are read the same wherever they are cut, and with every line end`, async t => {
    const events = expected.map(([event, data]) => ({ event, data }))
    for (const newline of ['\n', '\r\n', '\r']) {
      const text = stream.replaceAll('\n', newline)
      const { length } = Buffer.from(text)
      for (let cut = 0; cut <= length; cut++) t.same(eventsOf(text, [cut]), events, `${JSON.stringify(newline)} at ${cut}`)
      t.same(eventsOf(text, Array.from({ length }, (_, at) => at)), events, 'byte by byte')
    }
    t.same(eventsIn(Buffer.from(stream)).map(({ event, data }) => ({ event, data })), events)
  })
}

t.test('a line that is no field is noticed, for the events after it', async t => {
  const understood = (text: string) => read(Buffer.from(text)).map(({ isUnderstood }) => isUnderstood)
  t.same(understood(': c\nid: 1\nretry: 2\nevent: x\ndata: 1\n\ndata: 2\n\n'), [true, true])
  t.same(understood('data: 1\n\nwhat is this\n\ndata: 2\n\n'), [true, false])
  t.same(understood('x: 1\ndata: 1\n\ndata: 2\n\n'), [false, false])
})

t.test('a single event has a limit', async t => {
  const parser = new EventParser()
  const block = Buffer.alloc(maxEventBytes / 4, 'x')
  for (let i = 0; i < 4; i++) parser.push(block)
  t.match(thrown(() => parser.push(Buffer.from('x'))), { kind: 'bad_reply' })
})
