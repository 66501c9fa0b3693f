import t, { type Test } from 'tap'
import { createGenerations } from '../../../services/images/generations.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import type { Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../engines.ts'

const { signal } = new AbortController()
const takeoverMs = 10_000
const order = { apiKey: 'key', identity: { key: 'mine', retryCount: 0, bodyHash: 'body' }, signal }

function nodesOn (t: Test, store: Store) {
  return (node: string) => {
    const generations = createGenerations({ store, node, takeoverMs, onError: error => t.comment(error) })
    t.teardown(() => generations.close())
    return generations
  }
}

forEachEngine(t, 'a client whose generation was lost waits for its next one', async (t, { open }) => {
  const store = await open()
  const one = nodesOn(t, store)('one')
  const waiterId = one.waiters.acquire()
  const first = await one.find(order, waiterId)
  await one.run(first.id, async () => { throw GatewayError.unavailable('lost') }).catch(() => {})
  const { id } = await one.find(order, waiterId)
  t.match(await one.waiters.of([id]), [{ id: waiterId, work: id }])
})
