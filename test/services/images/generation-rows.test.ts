import t from 'tap'
import { createGenerationRows } from '../../../services/images/generation-rows.ts'
import type { Made } from '../../../services/images/generation.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { insertMedia, selectMedia } from '../../../services/media/rows.ts'
import { createClientPresence } from '../../../services/requests/joins/client-presence.ts'
import { forEachEngine } from '../../helpers/engines.ts'

forEachEngine(t, 'a generation that is delivered after it was found is joined by its name alone', async (t, { open }) => {
  const store = await open()
  const clientPresence = createClientPresence({ kind: 'generation', store, node: 'one', takeoverMs: 10_000 })
  const rows = createGenerationRows(store, 'one', clientPresence)
  const client = clientPresence.acquire()
  await rows.insert({ id: 'gen', apiKey: 'key', dedupe: null, bodyHash: 'body', createdAt: 1 }, client)
  t.equal((await rows.alike('key', 'body', { sinceMs: 0, nowMs: 2 })).length, 1)
  await rows.deliver('gen', client)
  t.equal(await rows.claim('gen', 'repeated', []), false, 'two requests are two generations')
  t.equal(await rows.claim('gen', 'named', null), true)
})

forEachEngine(t, 'what a generation has stored expires when it fails, unless it had succeeded', async (t, { open }) => {
  const store = await open()
  const clientPresence = createClientPresence({ kind: 'generation', store, node: 'one', takeoverMs: 10_000 })
  const rows = createGenerationRows(store, 'one', clientPresence)
  const [times, error] = [{ createdAt: 1, expiresAt: 9_000 }, GatewayError.unavailable('lost')]
  for (const id of ['failed', 'succeeded']) {
    await rows.insert({ id, apiKey: 'key', dedupe: null, bodyHash: id, createdAt: 1 }, clientPresence.acquire())
    const file = { account: 'a', job: null, mime: 'image/png', extension: 'png', bytes: 1, sha256: '', width: 1, height: 1 }
    await insertMedia(store, { id, ...file, ...times })
  }
  await rows.record('succeeded', {} as Made)
  await rows.succeed('succeeded', 9_000)
  for (const id of ['failed', 'succeeded']) await rows.fail(id, error, 50, [id])
  t.match(await selectMedia(store, 'failed'), { expiresAt: 50 })
  t.match(await selectMedia(store, 'succeeded'), { expiresAt: 9_000 })
})
