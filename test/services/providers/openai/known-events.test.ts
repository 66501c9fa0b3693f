import fc from 'fast-check'
import t from 'tap'
import { KnownEvents } from '../../../../services/providers/openai/known-events.ts'
import { PieceScan } from '../../../../services/providers/openai/piece-scan.ts'
import { anyCharacter } from '../../../any-character.ts'

interface Event { id: string, content: string, padding: string | null, usage: boolean }

const written = ({ id, content, padding, usage }: Event, more: object = {}): string => `data: ${JSON.stringify({
  id,
  choices: [{ index: 0, delta: { content, ...more }, finish_reason: null }],
  ...(usage ? { usage: null } : {}),
  ...(padding === null ? {} : { obfuscation: padding })
})}\n\n`

const anyText = fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom('', '"', '\\', '"}', '\n\ndata: ', '\\"', '"obfuscation":"', 'é'))
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

interface Found { visible: string, texts: number[] }

/** A piece as the client sees it and the places of its texts, if all its events are known; else null. */
function match (known: KnownEvents, piece: Buffer): Found | null {
  const found: Found = { visible: '', texts: [] }
  for (let at = 0; at < piece.length;) {
    const end = known.find(piece, at)
    if (end === -1) return null
    found.visible += String(known.visible ?? piece.subarray(at, end))
    found.texts.push(...known.strings.slice(0, known.textsEnd))
    at = end
  }
  return found
}

t.test('an event is recognized if it differs in nothing but its text, and read as a scan reads it', async () => {
  const someEvents = fc.array(anyEvent, { minLength: 1, maxLength: 4 })
  fc.assert(fc.property(someEvents, someEvents, (seen, next) => {
    const known = learned(seen)
    const piece = Buffer.from(next.map(event => written(event)).join(''))
    const text = piece.toString()
    const found = match(known, piece)
    const form = ({ id, padding, usage }: Event): string => JSON.stringify([id, padding !== null, usage])
    const forms = new Set(seen.map(form))
    const isKnown = next.every(event => forms.has(form(event)))
    if ((found !== null) !== isKnown) throw new Error(isKnown ? 'not recognized' : 'wrongly recognized')
    if (found === null) return
    const expected = new PieceScan()
    expected.scan(piece)
    if (!expected.isPlain) throw new Error('more than text')
    if (String(found.texts) !== String(expected.texts)) throw new Error(`${found.texts} is not ${expected.texts}`)
    if (found.visible !== text) throw new Error('changed')
  }))
})

t.test('an edit is repeated around other texts', async () => {
  fc.assert(fc.property(anyEvent, fc.array(anyText, { minLength: 1, maxLength: 4 }), (event, contents) => {
    const known = learned([event], event => written(event))
    const events = contents.map(content => ({ ...event, content }))
    const piece = Buffer.from(events.map(event => written(event, { role: 'assistant' })).join(''))
    const visible = match(known, piece)?.visible
    if (visible !== events.map(event => written(event)).join('')) throw new Error(String(visible))
  }))
})

t.test('what is cut off or followed by something else is not recognized', async t => {
  const event = { id: 'a', content: 'x', padding: 'yy', usage: true }
  const known = learned([event])
  const text = written(event)
  const isKnown = (text: string): boolean => match(known, Buffer.from(text)) !== null
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
    match(known, Buffer.from(written(event))) !== null
  t.same(events.map(isKnown), [false, ...events.slice(1).map(() => true)])
})

t.test('a stream whose events never repeat is given up', async t => {
  const of = (id: number): Event => ({ id: String(id), content: 'x', padding: null, usage: false })
  const isKnown = (known: KnownEvents, event: Event): boolean =>
    match(known, Buffer.from(written(event))) !== null
  const events = Array.from({ length: 40 }, (_, at) => of(at))
  t.notOk(isKnown(learned(events), of(39)))
  t.ok(isKnown(learned(events.slice(0, 30)), of(29)))
})

t.test('an edit that changes the text itself is not repeated', async t => {
  const event = { id: 'a', content: 'x', padding: null, usage: false }
  const known = learned([event], event => written({ ...event, content: `${event.content}!` }))
  t.equal(match(known, Buffer.from(written(event, { role: 'assistant' }))), null)
})

t.test('an edit that keeps the length is made in place', async t => {
  const event = { id: 'a', content: 'x', padding: 'yy', usage: true }
  const hidden = (event: Event): string => written(event).replace(',"usage":null', '             ')
  const piece = Buffer.from(written(event))
  const scan = new PieceScan()
  scan.scan(piece)
  const known = new KnownEvents()
  known.learn(piece, 0, piece.length, scan, Buffer.from(hidden(event)))
  const others = [{ ...event, content: 'another', padding: '' }, { ...event, content: '' }]
  const next = Buffer.from(others.map(event => written(event)).join(''))
  t.equal(match(known, next)?.visible, others.map(hidden).join(''))
  t.equal(known.visible, null)
  t.equal(next.toString(), others.map(hidden).join(''))
})
