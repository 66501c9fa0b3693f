import fc from 'fast-check'
import t from 'tap'
import { generatedIn, recordGenerated } from '../../../services/providers/generated-text.ts'
import { DeliveredText, createReport, recordEnd, recordUsage, statedName } from '../../../services/providers/report.ts'

t.test('the text of chunks is collected as it was written', async () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { maxLength: 20 }), texts => {
    const delivered = new DeliveredText()
    for (const content of texts) delivered.takeText(content)
    return delivered.text === texts.join('') && delivered.isEmpty === (texts.length === 0)
  }), { numRuns: 200 })
})

t.test('the model that an answer states is cut, because logs and traces show it', async t => {
  t.equal(statedName('gpt-5'), 'gpt-5')
  t.same([statedName(''), statedName(7), statedName(null)], [null, null, null])
  const long = statedName('\r\n\ud83d'.repeat(100_000)) ?? ''
  t.ok(long.length < 300 && long.isWellFormed())
})

t.test('arguments of tools, reasoning, legacy texts, pictures and speech count, each once', async t => {
  const report = createReport()
  const take = (choice: object): void => recordGenerated(report, generatedIn([choice]))
  take({ delta: { reasoning: 'Hm. ', reasoning_content: 'Hm. ' } })
  take({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }, { index: 0, function: { arguments: '1}' } }] } })
  take({ delta: { tool_calls: [{ index: 1, function: { arguments: { b: 2 } } }] } })
  take({ text: '!' })
  take({ message: { content: [{ type: 'text', text: '?' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,' } }] } })
  t.equal(report.delivered.text, 'Hm. {"a":1}{"b":2}!?')
  t.equal(report.delivered.images, 1)
  const length = report.delivered.text.length
  take({ delta: { audio: { transcript: 'x'.repeat(length) } } })
  t.equal(report.delivered.spokenShare, 0.5)
  t.same(generatedIn('no list'), { text: '', spoken: '', images: 0 })
})

t.test('what is kept has a limit; the length of the rest is known', async t => {
  for (const [count, text] of [[100, 'x'.repeat(10_000)], [1, '"\n\u0001'.repeat(100_000)], [50_000, 'ä"\u0002']] as const) {
    const delivered = new DeliveredText()
    for (let i = 0; i < count; i++) delivered.takeText(text)
    const kept = delivered.text
    t.ok(kept.length > 5000 && kept.length <= 64 * 1024)
    t.ok(text.repeat(count).startsWith(kept.replace(/\ufffd$/, '')), 'no escape sequence is cut')
    t.ok(Math.abs(kept.length * delivered.scale / (text.length * count) - 1) < 0.01)
  }
})

t.test('a count of the provider takes the place of the text before it', async t => {
  const report = createReport()
  report.delivered.takeText('Hello')
  recordUsage(report, { prompt: 3, completion: 9 }, true)
  t.match([report.delivered.isEmpty, report.delivered.text, report.delivered.countedTokens], [true, '', 9])
  report.delivered.takeText('more')
  recordEnd(report)
  t.equal(report.isPartial, true, 'text after the last count keeps it partial')
  recordUsage(report, { prompt: 3, completion: 10 }, true)
  recordEnd(report)
  t.equal(report.isPartial, false)
})

t.test('a count of zero beside text covers it at the end only', async t => {
  const report = createReport()
  report.delivered.takeText('Hello')
  recordUsage(report, { prompt: 3, completion: 0 }, true)
  t.equal(report.delivered.text, 'Hello', 'it may not be counted yet')
  recordEnd(report)
  t.match([report.isPartial, report.delivered.isEmpty], [false, true], 'zero is a count too')
  const before = createReport()
  recordUsage(before, { prompt: 3, completion: 0 }, true)
  before.delivered.takeText('Hello')
  recordEnd(before)
  t.match([before.isPartial, before.delivered.text], [true, 'Hello'])
  const picture = createReport()
  picture.delivered.takeMedia(1, 0)
  recordUsage(picture, { prompt: 3, completion: 0 }, true)
  t.equal(picture.delivered.isEmpty, false)
})
