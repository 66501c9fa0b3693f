import t from 'tap'
import { UpstreamError, type UpstreamErrorKind } from '../../../../services/shared/errors.ts'
import { fanOut } from '../../../../services/providers/image-api/fan-out.ts'
import type { GeneratedImages } from '../../../../services/providers/provider-image.ts'

const answer = (count: number, more: Partial<GeneratedImages> = {}): GeneratedImages => ({
  images: Array.from({ length: count }, () => ({ url: 'https://images.example/1.png', revisedPrompt: null })),
  usage: { inputText: 1, inputImage: 2, output: 3, outputText: 4 },
  costNano: 10,
  dropped: ['style'],
  ...more
})
const failure = (kind: UpstreamErrorKind, sent: 'yes' | 'no' = 'yes') => new UpstreamError(kind, sent, kind)

t.test('splits the count into parallel calls and merges their answers', async t => {
  const counts: number[] = []
  const merged = await fanOut(5, 2, async count => {
    counts.push(count)
    return answer(count)
  })
  t.same(counts, [2, 2, 1])
  t.equal(merged.images.length, 5)
  t.same(merged.usage, { inputText: 3, inputImage: 6, output: 9, outputText: 12 })
  t.equal(merged.costNano, 30)
  t.same(merged.dropped, ['style'])
})

t.test('reports no usage and no cost if one answer has none', async t => {
  let calls = 0
  const uncounted = { usage: null, costNano: null }
  const merged = await fanOut(2, 1, async count => answer(count, ++calls === 1 ? uncounted : {}))
  t.match(merged, { usage: null, costNano: null })
})

t.test('returns what succeeded, if anything did', async t => {
  let calls = 0
  const merged = await fanOut(3, 1, async count => {
    if (++calls === 2) throw failure('network')
    return answer(count)
  })
  t.equal(merged.images.length, 2)
})

t.test('throws the most informative error if every call failed', async t => {
  const throwing = (...errors: Error[]) =>
    fanOut(errors.length, 1, async () => { throw errors.shift() ?? new Error('none left') })
  const all = throwing(failure('network', 'no'), failure('moderated'), failure('bad_request'))
  await t.rejects(all, { name: 'UpstreamError', kind: 'moderated' })
  await t.rejects(throwing(failure('network'), failure('bad_request')), { name: 'UpstreamError', kind: 'bad_request' })
  await t.rejects(throwing(failure('network', 'no'), failure('timeout')), { name: 'UpstreamError', kind: 'timeout' })
  await t.rejects(throwing(failure('moderated'), new TypeError('a bug')), { message: 'a bug' })
})
