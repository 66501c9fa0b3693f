import t, { type Test } from 'tap'
import { createGenerations } from '../../../services/images/generations.ts'
import type { Made } from '../../../services/images/generation-rows.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { StoreUnavailable, type Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../engines.ts'

const { signal } = new AbortController()
const takeoverMs = 10_000
const order = { apiKey: 'key', identity: { key: 'mine', retryCount: 0, bodyHash: 'body' }, signal }

const price = 40
const made: Made = {
  model: 'a/model',
  provider: 'up',
  upstreamModel: 'model',
  headers: {},
  costNano: price,
  hold: 'hold_1',
  answer: {} as Made['answer'],
  images: []
}

function nodesOn (t: Test, store: Store) {
  return (node: string) => {
    const generations = createGenerations({ store, node, takeoverMs, onError: error => t.comment(error) })
    t.teardown(() => generations.close())
    return generations
  }
}

forEachEngine(t, 'images that could not be recorded are not charged', async (t, { open }) => {
  const store = await open()
  const one = nodesOn(t, { ...store, run: async () => { throw new Error('rejected') } } as Store)('one')
  const { id } = await one.find(order, one.waiters.acquire())
  let isRecorded = false
  await t.rejects(one.run(id, async steps => {
    await steps.record(made)
    isRecorded = true
    return made
  }), { message: 'rejected' })
  t.equal(isRecorded, false)
})

forEachEngine(t, 'a name whose generation was begun without an answer of the database is free', async (t, { open }) => {
  const store = await open()
  let breaks = true
  const one = nodesOn(t, {
    ...store,
    async transaction (work: Parameters<Store['transaction']>[0]) {
      const result = await store.transaction(work)
      if (breaks) throw new StoreUnavailable(null)
      return result
    }
  } as Store)('one')
  await t.rejects(one.find(order, one.waiters.acquire()), StoreUnavailable)
  breaks = false
  const { id, isNew } = await one.find(order, one.waiters.acquire())
  t.equal(isNew, false)
  t.equal(await one.wait(id, AbortSignal.timeout(3_000)), null)
  t.match(await one.find(order, one.waiters.acquire()), { isNew: true })
})

forEachEngine(t, 'a client whose generation was lost waits for its next one', async (t, { open }) => {
  const store = await open()
  const one = nodesOn(t, store)('one')
  const waiterId = one.waiters.acquire()
  const first = await one.find(order, waiterId)
  await one.run(first.id, async () => { throw GatewayError.unavailable('lost') }).catch(() => {})
  const { id } = await one.find(order, waiterId)
  t.match(await one.waiters.of([id]), [{ id: waiterId, work: id }])
})
