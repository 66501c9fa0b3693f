import t from 'tap'
import { createClientPresence } from '../../../../services/requests/joins/client-presence.ts'
import { forEachEngine } from '../../../helpers/engines.ts'

forEachEngine(t, 'clients that other nodes have deleted are restored, and others left alone', async (t, { open }) => {
  const store = await open()
  const clientPresence = createClientPresence({ kind: 'generation', store, node: 'one', takeoverMs: 10_000 })
  const [deleted, moved] = [clientPresence.acquire(), clientPresence.acquire()]
  await clientPresence.add(store, 'first', deleted)
  await clientPresence.add(store, 'first', moved)
  await clientPresence.remove(store, deleted)
  // As by an `add` that commits while the clients are being restored.
  await store.run("update waiter set work = 'second' where id = $1", [moved])
  await clientPresence.restore()
  const rows = await store.all<{ id: string, work: string }>('select id, work from waiter order by id')
  t.match(rows, [{ id: deleted, work: 'first' }, { id: moved, work: 'second' }])
})
