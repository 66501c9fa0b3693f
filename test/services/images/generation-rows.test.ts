import t from 'tap'
import { createGenerationRows } from '../../../services/images/generation-rows.ts'
import { createWaitingClients } from '../../../services/joins/waiting-clients.ts'
import { forEachEngine } from '../../engines.ts'

forEachEngine(t, 'a generation that is delivered after it was found is joined by its name alone', async (t, { open }) => {
  const store = await open()
  const waiters = createWaitingClients({ kind: 'generation', store, node: 'one', takeoverMs: 10_000 })
  const rows = createGenerationRows(store, 'one', waiters)
  const client = waiters.acquire()
  await rows.insert({ id: 'gen', apiKey: 'key', dedupe: null, bodyHash: 'body', createdAt: 1 }, client)
  t.equal((await rows.alike('key', 'body', { sinceMs: 0, nowMs: 2 })).length, 1)
  await rows.deliver('gen', client)
  t.equal(await rows.claim('gen', 'repeated', []), false, 'two requests are two generations')
  t.equal(await rows.claim('gen', 'named', null), true)
})
