import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { PieceScan } from '../../../../services/providers/openai/piece-scan.ts'
import { anyCharacter } from '../../../any-character.ts'

function scan (text: string): { hasUsage: boolean, hasError: boolean, texts: string[] } {
  const piece = Buffer.from(text)
  const { hasUsage, hasError, texts } = found(piece)
  const pairs = Array.from({ length: texts.length / 2 }, (_, i) => piece.toString('utf8', texts[i * 2], texts[i * 2 + 1]))
  return { hasUsage, hasError, texts: pairs }
}

function found (piece: Buffer): PieceScan {
  const scan = new PieceScan()
  scan.scan(piece)
  return scan
}

t.test('keys are found anywhere, with and without spaces', async t => {
  t.match(scan('data: {"usage":{"prompt_tokens":1}}\n\n'), { hasUsage: true, hasError: false })
  t.match(scan('data: { "error" : {} }\n\n'), { hasUsage: false, hasError: true })
  t.match(scan('data: {"delta":{"content" : "a\\"b"}}\n\n'), { texts: ['a\\"b'], hasUsage: false, hasError: false })
})

t.test('a null usage is distinct from a real one', async t => {
  for (const member of ['"usage":null', '"usage" : null', '"usage"\t:\tnull']) {
    const piece = Buffer.from(`data: {"id":1,${member},"choices":[]}\n\n`)
    const { hasUsage, nullUsages } = found(piece)
    t.equal(hasUsage, false)
    t.strictSame(piece.toString('utf8', ...nullUsages), member)
  }
  t.match(scan('data: {"usage":{"a":null}}\n\ndata: {"usage":null}\n\n'), { hasUsage: true })
  t.match(scan('data: {"usage":'), { hasUsage: true })
})

t.test('a scan forgets the previous piece', async t => {
  const scan = new PieceScan()
  scan.scan(Buffer.from('data: {"usage":null,"content":"a"}\n\n'))
  scan.scan(Buffer.from('data: {}\n\n'))
  t.strictSame([scan.nullUsages, scan.texts], [[], []])
})

t.test('text values are not taken for keys', async t => {
  const content = JSON.stringify({ usage: 1, error: '\\' })
  t.match(scan(`data: ${JSON.stringify({ delta: { content } })}\n\n`), { hasUsage: false, hasError: false })
})

t.test('generated text has many keys, and reasoning under two of them is one text', async t => {
  const keys = ['content', 'refusal', 'transcript', 'arguments', 'input', 'reasoning', 'reasoning_content', 'thinking', 'summary', 'text']
  for (const key of keys) t.same(scan(`data: {"a":{"${key}":"x y"}}\n\n`).texts, ['x y'], key)
  const twice = { content: 'x', reasoning: 'Hm', reasoning_content: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }
  t.same(scan(`data: ${JSON.stringify({ delta: twice })}\n\n`).texts, ['x', 'Hm'])
  const other = { reasoning: 'Hm', content: 'Hm', reasoning_details: [{ text: 'So' }] }
  t.same(scan(`data: ${JSON.stringify({ delta: other })}\n\n`).texts, ['Hm', 'Hm', 'So'])
  t.same(scan('data: {"reasoning":"a"}\n\ndata: {"text":"a"}\n\n').texts, ['a', 'a'], 'but not in the next event')
  t.same(scan('data: {"choices":[{"text":"a"},{"text":"a"}]}\n\n').texts, ['a', 'a'], 'nor under the same key')
  t.same(scan('data: {"input":"a","usage":{},"error":"input"}\n\n'), { hasUsage: true, hasError: true, texts: ['a'] })
})

t.test('generated images and spoken text are counted', async t => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const link = { type: 'url_citation', url_citation: { url: 'https://example.com', title: 'x' } }
  const delta = { images: [image, image], annotations: [link], audio: { id: 'a', data: 'AAAA', transcript: 'Hello' } }
  t.match(found(Buffer.from(`data: ${JSON.stringify({ delta })}\n\n`)), { images: 2, spokenBytes: 5 })
})

t.test('an unterminated string hides nothing of the next event', async t => {
  t.match(scan('data: {"content":"cut\n\ndata: {"usage":{}}\n\n'), { hasUsage: true })
  t.match(scan('data: {"content":"cut\\'), { texts: ['cut\\'] })
})

t.test('every text of any JSON is found, as JSON.parse finds it', async () => {
  const texts = fc.array(fc.string({ unit: anyCharacter }))
  fc.assert(fc.property(texts, fc.array(fc.string()), (contents, names) => {
    const choices = contents.map((content, index) => ({ name: names[index], delta: { content } }))
    const { texts } = scan(`data: ${JSON.stringify({ choices })}\n\n`)
    return isDeepStrictEqual(texts.map(text => JSON.parse(`"${text}"`)), contents.map(content => content.toWellFormed()))
  }), { numRuns: 100 })
})
