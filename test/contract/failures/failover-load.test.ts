import t from 'tap'
import { sendUnfairLoad } from '../../chaos/failover-load.ts'
import { createRandom } from '../../services/billing/ledger/random.ts'

t.test('a flaky provider, a slow one and the poison prompts of one key fail no request of another key', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}`)
  const { good, poison } = await sendUnfairLoad(t, { random: createRandom(seed), requests: 18, clients: 6 })
  t.same([...good], [[200, 108]])
  t.notOk(poison.has(200))
  t.ok((poison.get(502) ?? 0) > 10, 'the poison prompts go on')
})
