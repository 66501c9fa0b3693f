import fc from 'fast-check'
import t from 'tap'
import { KnownEvents } from '../../../../services/providers/openai/known-events.ts'
import { PieceScan } from '../../../../services/providers/openai/piece-scan.ts'

interface Event { id: string, content: string, padding: string | null, usage: boolean }

const written = ({ id, content, padding, usage }: Event, more: object = {}): string => `data: ${JSON.stringify({
  id,
  choices: [{ index: 0, delta: { content, ...more }, finish_reason: null }],
  ...(usage ? { usage: null } : {}),
  ...(padding === null ? {} : { obfuscation: padding })
})}\n\n`

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '"', '\\', '"}', '\n\ndata: ', '\\"', '"obfuscation":"', 'é'))
const anyEvent = fc.record({
  id: fc.constantFrom('a', 'b'), content: anyText, padding: fc.option(anyText), usage: fc.boolean()
})

/** Learns each of the events, with what the client shall see of it. */
function learned (events: readonly Event[], edit?: (event: Event) => string): KnownEvents {
  const known = new KnownEvents()
  for (const event of events) {
    const piece = Buffer.from(written(event, edit && { role: 'assistant' }))
    const scan = new PieceScan()
    scan.scan(piece)
    known.learn(piece, 0, piece.length, scan, edit === undefined ? null : Buffer.from(edit(event)))
  }
  return known
}

t.test('an event is recognized if it differs in nothing but its text, and read as a scan reads it', async () => {
  const someEvents = fc.array(anyEvent, { minLength: 1, maxLength: 4 })
  fc.assert(fc.property(someEvents, someEvents, (seen, next) => {
    const known = learned(seen)
    const piece = Buffer.from(next.map(event => written(event)).join(''))
    const found = new PieceScan()
    const visible = known.match(piece, found)
    const form = ({ id, padding, usage }: Event): string => JSON.stringify([id, padding !== null, usage])
    const forms = new Set(seen.map(form))
    const isKnown = next.every(event => forms.has(form(event)))
    if ((visible !== null) !== isKnown) throw new Error(isKnown ? 'not recognized' : 'wrongly recognized')
    if (visible === null) return
    const expected = new PieceScan()
    expected.scan(piece)
    const facts = ({ texts, nullUsages, hasUsage, hasError }: PieceScan): string =>
      JSON.stringify([texts, nullUsages, hasUsage, hasError])
    if (facts(found) !== facts(expected)) throw new Error(`${facts(found)} is not ${facts(expected)}`)
    if (!visible.equals(piece)) throw new Error('changed')
  }))
})

t.test('an edit is repeated around other texts', async () => {
  fc.assert(fc.property(anyEvent, fc.array(anyText, { minLength: 1, maxLength: 4 }), (event, contents) => {
    const known = learned([event], event => written(event))
    const events = contents.map(content => ({ ...event, content }))
    const piece = Buffer.from(events.map(event => written(event, { role: 'assistant' })).join(''))
    const visible = known.match(piece, new PieceScan())
    if (visible?.toString() !== events.map(event => written(event)).join('')) throw new Error(String(visible))
  }))
})

t.test('what is cut off or followed by something else is not recognized', async t => {
  const event = { id: 'a', content: 'x', padding: 'yy', usage: true }
  const known = learned([event])
  const text = written(event)
  const isKnown = (text: string): boolean => known.match(Buffer.from(text), new PieceScan()) !== null
  for (let end = 1; end < text.length; end++) t.notOk(isKnown(text.slice(0, end)))
  t.notOk(isKnown(`${text}data: [DONE]\n\n`))
  t.ok(isKnown(text + text))
  known.clear()
  t.notOk(isKnown(text))
})

t.test('the oldest form gives way', async t => {
  const events = Array.from({ length: 9 }, (_, at) => ({ id: String(at), content: 'x', padding: null, usage: false }))
  const known = learned(events)
  const isKnown = (event: Event): boolean =>
    known.match(Buffer.from(written(event)), new PieceScan()) !== null
  t.same(events.map(isKnown), [false, ...events.slice(1).map(() => true)])
})

t.test('a stream whose events never repeat is given up', async t => {
  const of = (id: number): Event => ({ id: String(id), content: 'x', padding: null, usage: false })
  const isKnown = (known: KnownEvents, event: Event): boolean =>
    known.match(Buffer.from(written(event)), new PieceScan()) !== null
  const events = Array.from({ length: 40 }, (_, at) => of(at))
  t.notOk(isKnown(learned(events), of(39)))
  t.ok(isKnown(learned(events.slice(0, 30)), of(29)))
})

t.test('an edit that changes the text itself is not repeated', async t => {
  const event = { id: 'a', content: 'x', padding: null, usage: false }
  const known = learned([event], event => written({ ...event, content: `${event.content}!` }))
  t.equal(known.match(Buffer.from(written(event, { role: 'assistant' })), new PieceScan()), null)
})
