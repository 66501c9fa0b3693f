import t from 'tap'
import { createResponseLengths } from '../../../services/billing/response-lengths.ts'

function after (...answers: [tokens: number, times: number][]): number {
  const lengths = createResponseLengths()
  for (const [tokens, times] of answers) for (let i = 0; i < times; i++) lengths.record('m', tokens)
  return lengths.expected('m')
}

t.test('four times what 99 of 100 answers had at most, to the next power of two', async t => {
  t.equal(after([1000, 100]), 4 * 1024)
  t.equal(after([1024, 100]), 4 * 2048)
  t.equal(after([10, 97], [5000, 3]), 4 * 8192)
  t.equal(after([100, 5000], [5000, 1]), 2048, 'one in thousands does not count')
})

t.test('never less than is useful, and a guess while there are few answers', async t => {
  t.equal(after(), 4096)
  t.equal(after([10, 19]), 4096)
  t.equal(after([10, 20]), 2048)
})

t.test('most answers are the nine of ten that are shortest', async t => {
  const lengths = createResponseLengths()
  t.equal(lengths.usual('m'), 1024, 'a guess')
  for (let i = 0; i < 90; i++) lengths.record('m', 300)
  for (let i = 0; i < 10; i++) lengths.record('m', 9000)
  t.equal(lengths.usual('m'), 16_384, 'later ones weigh more')
  for (let i = 0; i < 100; i++) lengths.record('m', 300)
  t.equal(lengths.usual('m'), 512)
})

t.test('models are apart, and old answers are forgotten', async t => {
  const lengths = createResponseLengths()
  for (let i = 0; i < 100; i++) lengths.record('long', 10_000)
  t.equal(lengths.expected('other'), 4096)
  for (let i = 0; i < 200_000; i++) lengths.record('long', 100)
  t.equal(lengths.expected('long'), 2048)
})

t.test('numbers that no answer can have do no harm', async t => {
  t.equal(after([-5, 50], [0, 50], [NaN, 50]), 4096, 'not counted')
  t.equal(after([1e300, 50], [Infinity, 50]), 4 * 2 ** 18)
  t.equal(after([0.5, 50]), 4096)
})
