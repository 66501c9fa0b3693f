import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { EventSplitter, eventsIn, maxEventBytes } from '../../../services/upstream/sse.ts'
import { thrown } from '../../thrown.ts'
import { anyCharacter } from '../../any-character.ts'

/** All events of a byte stream that arrives in pieces cut at the given places. */
function eventsOf (bytes: Buffer, cuts: number[] = []) {
  const splitter = new EventSplitter()
  const places = [0, ...cuts.map(cut => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  const pieces: Buffer[] = []
  for (let i = 1; i < places.length; i++) {
    const piece = splitter.push(Buffer.from(bytes.subarray(places[i - 1], places[i])))
    if (piece !== null) pieces.push(piece)
  }
  return { pieces, events: pieces.flatMap(piece => [...eventsIn(piece)]), rest: splitter.rest().toString() }
}

t.test('however a stream is cut and whatever its line ends, the events are the same', async () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 20 })
    .map(value => value.replace(/[\r\n\ud800-\udfff]/g, ''))
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const texts = fc.array(text, { minLength: 1, maxLength: 6 })
  fc.assert(fc.property(texts, end, fc.array(fc.nat(), { maxLength: 12 }),
    (texts, newline, cuts) => {
      const stream = Buffer.from(texts.map(data => `data: ${data}${newline}${newline}`).join(''))
      const { pieces, events, rest } = eventsOf(stream, cuts)
      return isDeepStrictEqual(events, texts.map(data => ({ event: 'message', data }))) && rest === '' &&
        pieces.every(piece => piece.toString().endsWith('\n\n') && !piece.includes('\r'))
    }), { numRuns: 500 })
})

t.test('comments, names, several data lines and a missing space are understood', async t => {
  const stream = ': ping\n\nevent: error\ndata: a\ndata:b\n\nid: 3\n\ndata:\n\n'
  t.same(eventsOf(Buffer.from(stream)).events, [{ event: 'error', data: 'a\nb' }, { event: 'message', data: '' }])
})

t.test('a byte order mark is no part of the first event, wherever it is cut', async t => {
  const stream = Buffer.from('\ufeffdata: 1\n\ndata: \ufeff2\n\n')
  for (const cut of [0, 1, 2, 3, 4, 12]) {
    t.same(eventsOf(stream, [cut]).events.map(({ data }) => data), ['1', '\ufeff2'], `${cut}`)
  }
  t.equal(eventsOf(Buffer.from('\ufeffdata: 1')).rest, 'data: 1')
})

t.test('what follows the last empty line is kept apart', async t => {
  const { events, rest } = eventsOf(Buffer.from('data: 1\n\ndata: 2\n'))
  t.equal(events.length, 1)
  t.equal(rest, 'data: 2\n')
})

t.test('a single event has a limit', async t => {
  const splitter = new EventSplitter()
  const block = Buffer.alloc(maxEventBytes / 4, 'x')
  for (let i = 0; i < 4; i++) splitter.push(block)
  t.match(thrown(() => splitter.push(Buffer.from('x'))), { kind: 'bad_reply' })
})
