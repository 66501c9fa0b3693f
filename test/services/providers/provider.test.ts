import fc from 'fast-check'
import t from 'tap'
import { PieceScan } from '../../../services/providers/openai/piece-scan.ts'
import { DeliveredText } from '../../../services/providers/provider.ts'

t.test('the text of chunks is collected as it was written', async () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { maxLength: 20 }), texts => {
    const delivered = new DeliveredText()
    for (const content of texts) {
      const chunk = { id: 'x', choices: [{ index: 0, delta: { content }, finish_reason: null }] }
      take(delivered, Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`))
    }
    return delivered.text === texts.join('') && delivered.isEmpty === (texts.length === 0)
  }), { numRuns: 200 })
})

t.test('arguments of tools, reasoning and legacy texts count too, several in one piece', async t => {
  const delivered = new DeliveredText()
  const events = [
    { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '"\\"}' } }] } }] }
  ]
  take(delivered, Buffer.from(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')))
  take(delivered, Buffer.from('data: {"choices":[{"text":"!"}]}\n\n'))
  delivered.takeText('?')
  t.equal(delivered.text, '{"a":"\\"}!?')
})

t.test('what is kept has a limit', async t => {
  const delivered = new DeliveredText()
  for (let i = 0; i < 100; i++) delivered.takeText('x'.repeat(10_000))
  t.ok(delivered.text.length <= 256 * 1024)
})

function take (delivered: DeliveredText, piece: Buffer): void {
  const found = new PieceScan()
  found.scan(piece)
  delivered.take(piece, found.texts)
}
