import fc from 'fast-check'
import t from 'tap'
import { countSandboxTokens, createTokenCounter, splitTokens } from '../../../../services/providers/sandbox/tokens.ts'
import { processorMs } from '../../../helpers/processor-time.ts'
import { anyCharacter } from '../../../helpers/any-character.ts'

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.array(fc.constantFrom(' ', '  ', '\n', 'word', 'Überraschung', '中文', '🦊', '123456', '…', "'", 'é')).map(parts => parts.join(''))
)

t.test('splits words with their leading space', async t => {
  t.same(splitTokens('The quick, brown fox'), ['The', ' quick', ',', ' brown', ' fox'])
  t.same(splitTokens('internationally 12345'), ['internat', 'ionally', ' 123', '45'])
  t.same(splitTokens(''), [])
})

t.test('is lossless and never splits a surrogate pair', async () => {
  fc.assert(fc.property(text, text => {
    const tokens = splitTokens(text)
    return tokens.join('') === text && (!text.isWellFormed() || tokens.every(token => token.isWellFormed()))
  }))
})

t.test('gives the same first tokens with a limit', async () => {
  fc.assert(fc.property(text, fc.nat(20), (text, max) => {
    const first = splitTokens(text, max)
    const same = splitTokens(text).slice(0, max)
    return first.join('|') === same.join('|') && countSandboxTokens(first.join('')) === first.length
  }))
})

t.test('extrapolates the count of a very long text', async t => {
  t.ok(Math.abs(countSandboxTokens('word '.repeat(100_000)) - 100_000) < 50)
  const startedMs = processorMs()
  countSandboxTokens('word '.repeat(10_000_000))
  t.ok(processorMs() - startedMs < 4_000)
})

t.test('the work of counting is bounded for all texts of a request together', async t => {
  const count = createTokenCounter()
  const texts = Array.from({ length: 2_000 }, () => 'a@\ude00\r\nb '.repeat(5_000))
  const startedMs = processorMs()
  const counts = texts.map(count)
  t.ok(processorMs() - startedMs < 4_000)
  const [first = 0] = counts
  t.ok(counts.every(count => Math.abs(count - first) < 5), 'by the rate of what was counted')
})
