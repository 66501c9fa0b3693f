import t from 'tap'
import { createSiblings } from '../../../../services/operations/workers/siblings.ts'

t.test('the other workers are asked by name, and their silence is a 503', async t => {
  const siblings = createSiblings({ call: async name => `the ${name}` })
  t.same(await Promise.all([siblings.metrics(), siblings.counts()]), ['the metrics', 'the counts'])

  const cause = new Error('No answer to metrics within 3000 ms')
  const silent = createSiblings({ call: async () => { throw cause } })
  const refusal = { status: 503, code: 'service_unavailable', headers: { 'retry-after': '1' }, cause }
  await t.rejects(silent.metrics(), refusal)
  await t.rejects(silent.counts(), refusal)
})
