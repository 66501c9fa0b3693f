import t from 'tap'
import { createWaitingClients } from '../../../../services/requests/joins/waiting-clients.ts'
import { forEachEngine } from '../../../engines.ts'

forEachEngine(t, 'waiters that other nodes have deleted are restored, and others left alone', async (t, { open }) => {
  const store = await open()
  const waiters = createWaitingClients({ kind: 'generation', store, node: 'one', takeoverMs: 10_000 })
  const [deleted, moved] = [waiters.acquire(), waiters.acquire()]
  await waiters.add(store, 'first', deleted)
  await waiters.add(store, 'first', moved)
  await waiters.remove(store, deleted)
  // As by an `add` that commits while the waiters are being restored.
  await store.run("update waiter set work = 'second' where id = $1", [moved])
  await waiters.restore()
  const rows = await store.all<{ id: string, work: string }>('select id, work from waiter order by id')
  t.match(rows, [{ id: deleted, work: 'first' }, { id: moved, work: 'second' }])
})
