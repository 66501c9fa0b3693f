import t from 'tap'
import { createKeys } from '../../../services/keys/keys.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { cachedRecord, setUp } from './helper.ts'

const dayMs = 86_400_000

forEachEngine(t, 'a new secret is valid at once, the old one for a day', async (t, database) => {
  const { keys, probe, time, id, key } = await setUp(database)
  const rotated = await keys.rotate(id)
  t.match(rotated, { id, previousUntil: time.now + dayMs })
  t.match(rotated.key, new RegExp(`^sk-tg-${id}-`))
  t.not(rotated.key, key)
  t.match(await keys.get(id), { previousUntil: time.now + dayMs })

  time.now += dayMs - 1
  t.match(await keys.authenticate(rotated.key), { id })
  t.match(await keys.authenticate(key), { id })
  t.match(await cachedRecord({ keys, probe }, key), { id })
  time.now += 1
  t.equal(await cachedRecord({ keys, probe }, key), undefined)
  await t.rejects(keys.authenticate(key), { status: 401, code: 'invalid_api_key', message: /replaced by a newer one/ })
  t.match(await keys.authenticate(rotated.key), { id })
})

forEachEngine(t, 'without a grace period the old secret ends at once', async (t, database) => {
  const { keys, id, key } = await setUp(database)
  await keys.authenticate(key)
  const rotated = await keys.rotate(id, { graceMs: 0 })
  await t.rejects(async () => await keys.authenticate(key), { status: 401, message: /replaced by a newer one/ })
  t.match(await keys.authenticate(rotated.key), { id })
})

forEachEngine(t, 'after several rotations the last two secrets are valid', async (t, database) => {
  const { store, keys, id, key } = await setUp(database)
  const second = await keys.rotate(id)
  const third = await keys.rotate(id)
  await t.rejects(async () => await keys.authenticate(key), { status: 401, message: /^Incorrect API key/ })
  t.match(await keys.authenticate(second.key), { id })
  t.match(await keys.authenticate(third.key), { id })
  t.equal((await store.all('select id from api_key')).length, 1)
})

forEachEngine(t, 'another node accepts a new secret at once, and refuses an old one within two seconds', async (t, database) => {
  const { store, keys, time, clock, id, key } = await setUp(database)
  const elsewhere = createKeys(store, clock)
  await elsewhere.authenticate(key)
  const rotated = await keys.rotate(id, { graceMs: 0 })
  t.match(await elsewhere.authenticate(rotated.key), { id })

  const again = await keys.rotate(id, { graceMs: 0 })
  time.now += 2_000
  await t.rejects(async () => await elsewhere.authenticate(rotated.key), { name: 'GatewayError', status: 401 })
  t.match(await elsewhere.authenticate(again.key), { id })
})

forEachEngine(t, 'an unknown secret is not refused as wrong during an outage', async (t, database) => {
  const { store, keys, probe, clock, id, key } = await setUp(database)
  await keys.authenticate(key)
  const rotated = await createKeys(store, clock).rotate(id)
  probe.down = true
  await t.rejects(async () => await keys.authenticate(rotated.key), StoreUnavailable)
  t.match(await keys.authenticate(key), { id })
  probe.down = false
  t.match(await keys.authenticate(rotated.key), { id })
})

forEachEngine(t, 'a rotation with a wrong grace period, or of an unknown or revoked key, is refused', async (t, database) => {
  const { keys, id } = await setUp(database)
  await t.rejects(keys.rotate('unknown'), { status: 404, code: 'key_not_found' })
  for (const graceMs of [-1, 0.5, 367 * dayMs]) {
    await t.rejects(keys.rotate(id, { graceMs }), { name: 'GatewayError', status: 400, param: 'grace_ms' }, String(graceMs))
  }
  await keys.revoke(id)
  await t.rejects(keys.rotate(id), { status: 409, code: 'key_revoked' })
})
