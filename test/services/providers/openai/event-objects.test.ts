import t from 'tap'
import { eventObjects } from '../../../../services/providers/openai/event-objects.ts'

t.test('objects follow each other, whatever their texts have', async t => {
  t.same(eventObjects('{"a":"}{\\\\"}\n{"b":"\\"}"}[DONE]'), { objects: [{ a: '}{\\' }, { b: '"}' }], isEnd: true })
  t.equal(eventObjects('{"a":1} and more'), null)
})

t.test('a text without an end takes linear time', async t => {
  const before = process.threadCpuUsage()
  t.equal(eventObjects(`{"a":1}"${'\\"'.repeat(200_000)}`), null)
  const { user } = process.threadCpuUsage(before)
  t.ok(user < 1_000_000, `${user / 1000} ms`)
})
