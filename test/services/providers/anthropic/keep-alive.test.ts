import t from 'tap'
import { readMessageStream } from '../../../../services/providers/anthropic/stream.ts'
import { plainText } from '../../../fixtures/anthropic/streams.ts'
import { encode } from '../../../servers/anthropic.ts'
import { peekFirst } from '../../../../services/providers/upstream/peek-first.ts'
import type { UpstreamResponse } from '../../../../services/providers/upstream/response.ts'
import { createReport } from '../../../../services/providers/report.ts'

/** An answer whose body is the given events; says how it was left. */
function exchangeOf (events: readonly object[]): UpstreamResponse & { left: string[] } {
  const left: string[] = []
  return {
    status: 200,
    headers: {},
    left,
    read: async () => Buffer.alloc(0),
    pipeTo () { throw new Error('chunks are asked for') },
    resume () {},
    cancel: () => { left.push('cancelled') },
    finish: () => { left.push('finished') },
    async * [Symbol.asyncIterator] () {
      try {
        for (const event of events) yield Buffer.from(encode(event))
      } finally {
        left.push('closed')
      }
    }
  }
}

t.test('a stream read to its end keeps its connection, one left early does not', async t => {
  const whole = exchangeOf(plainText)
  const chunks = await peekFirst(readMessageStream(whole, createReport(), { secret: null }))
  for await (const chunk of chunks) t.ok(chunk.id)
  t.same(whole.left, ['finished', 'closed'])
  const half = exchangeOf(plainText)
  for await (const chunk of await peekFirst(readMessageStream(half, createReport(), { secret: null }))) {
    if (chunk) break
  }
  t.same(half.left, ['closed'])
})

t.test('errors hide the key, and thoughts count as delivered text', async t => {
  const report = createReport()
  const thinking = [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm, so.' } },
    { type: 'error', error: { type: 'api_error', message: 'key sk-ant-secret failed' } }
  ]
  const read = Array.fromAsync(readMessageStream(exchangeOf(thinking), report, { secret: 'sk-ant-secret' }))
  await t.rejects(read, { name: 'UpstreamError', message: 'key *** failed' })
  t.equal(report.delivered.text, 'Hm, so.')
  t.equal(report.usage, null)
})
