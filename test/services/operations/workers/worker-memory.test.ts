import { getHeapStatistics } from 'node:v8'
import t from 'tap'
import { heapOptions } from '../../../../services/operations/workers/worker-memory.ts'

const plain = { execArgv: [], env: {} }

t.test('workers share half of the memory', async t => {
  t.same(heapOptions(256, plain).length, 1)
  const [, mib = ''] = /^--max-old-space-size=(\d+)$/.exec(heapOptions(64, plain)[0] ?? '') ?? []
  t.ok(Number(mib) >= 128)
  t.ok(Number(mib) * 1024 ** 2 < getHeapStatistics().heap_size_limit)
})

t.test("an operator's own option is left as it is", async t => {
  t.same(heapOptions(256, { ...plain, execArgv: ['--max-old-space-size=300'] }), [])
  t.same(heapOptions(256, { ...plain, env: { NODE_OPTIONS: '--max_old_space_size=300' } }), [])
  t.same(heapOptions(256, { ...plain, env: { NODE_OPTIONS: '--max-heap-size=300' } }), [])
})
