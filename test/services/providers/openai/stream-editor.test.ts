import fc from 'fast-check'
import t from 'tap'
import { PieceScan } from '../../../../services/providers/openai/piece-scan.ts'
import { dialects } from '../../../../services/providers/openai/dialects.ts'
import { StreamEditor } from '../../../../services/providers/openai/stream-editor.ts'
import { createReport } from '../../../../services/providers/report.ts'

// Events that differ from an earlier one only in their texts are not parsed. What the client gets must not
// depend on it, whatever a server sends.

const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' }
const maybe = <Value> (value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 })
const call = fc.record({
  index: maybe(fc.constantFrom(0, 0, 1)), id: maybe(fc.constantFrom('x', 'y', '')), name: maybe(fc.constantFrom('f', 'g', ''))
})
type Form = (text: string) => object
/** What a delta may be, but for its text. */
const form: fc.Arbitrary<Form> = fc.oneof(
  fc.constantFrom<Form>(
    content => ({ content }), content => ({ role: 'assistant', content }),
    text => ({ reasoning: text || 'a' }), () => ({})
  ),
  fc.array(call, { minLength: 1, maxLength: 2 }).map(calls => (text: string) => ({
    tool_calls: calls.map(({ index, id, name }) => ({ index, id, function: { name, arguments: text } }))
  }))
)
const text = fc.constantFrom('', '', '{', '{}', '{"a":', '1}', '{"a":1}', 'a', '\n')
const reason = fc.constantFrom(null, null, null, null, 'stop', 'tool_calls', 'length', '')
const texts = fc.array(text, { minLength: 1, maxLength: 4 })
/** Servers repeat the form of their events, with other texts. */
const index = fc.constantFrom(0, 0, 0, 1)
const events = fc.tuple(index, form, reason, texts, fc.constantFrom({}, { usage: null }))
  .map(([index, form, reason, texts, more]) => texts.map(text => {
    return { ...more, ...head, choices: [{ index, delta: form(text), finish_reason: reason }] }
  }))
const stream = fc.array(events, { minLength: 1, maxLength: 8 }).map(lists => lists.flat())

function received (events: readonly object[], parsesAll: boolean): string[] {
  const dialect = dialects.compatible
  if (dialect === undefined) throw new Error('no dialect')
  const form = { dialect, secret: null, hideUsage: true, fallback: head, choices: 1 }
  const editor = new StreamEditor(createReport(), form)
  const scan = new PieceScan()
  const ids = new Map<string, string>()
  const sent = [...events.map(event => JSON.stringify(event)), '[DONE]'].map(data => {
    const piece = Buffer.from(`data: ${data}\n\n`)
    const { known, repair } = editor
    const end = parsesAll || repair.isHolding ? -1 : known.find(piece, 0)
    if (end !== -1) return String(known.visible ?? piece)
    scan.scan(piece)
    return String(editor.edit(piece, scan))
  })
  return sent.map(text => text.replace(/call_[0-9a-f]{24}/g, id => {
    return ids.get(id) ?? ids.set(id, `call ${ids.size}`).get(id) ?? ''
  }))
}

t.test('known events pass as they would if they were parsed', async () => {
  fc.assert(fc.property(stream, events => {
    const [fast, slow] = [received(events, false), received(events, true)]
    return JSON.stringify(fast) === JSON.stringify(slow)
  }), { numRuns: 500 })
})
