import t from 'tap'
import { createAccount } from '../../../../services/operations/admin/accounts.ts'
import { addDeposit } from '../../../../services/operations/admin/credits.ts'
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from '../../../../services/operations/admin/keys.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { openAdministration, refusal } from './helper.ts'

forEachEngine(t, 'a key is created with its settings, and its secret is shown once', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  const { key, ...shown } = await createKey(admin, {
    account: 'a',
    label: 'my app',
    models: ['gpt-*'],
    budget: { amount_usd: 5, period: 'month' },
    expires_at: '2100-01-01'
  })
  t.match(shown, {
    object: 'key',
    role: 'user',
    account: 'a',
    label: 'my app',
    models: ['gpt-*'],
    budget: { amount_nano: 5_000_000_000, period: 'month', spent_nano: 0 },
    expires_at: '2100-01-01T00:00:00.000Z',
    revoked_at: null,
    previous_until: null
  })
  t.same(await getKey(admin, shown.id), shown)
  t.match(await admin.keys.authenticate(key), { id: shown.id, account: 'a' })
})

forEachEngine(t, 'a wrong key is refused', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  await t.rejects(createKey(admin, { account: 'b' }), refusal({ status: 400, param: 'account' }))
  await t.rejects(createKey(admin, { account: 'a', models: [] }), refusal({ status: 400, param: 'models' }))
  await t.rejects(createKey(admin, { account: 'a', budget: {} }), refusal({ status: 400, param: 'amount_usd' }))
  await t.rejects(createKey(admin, { account: 'a', budget: { amount_usd: -1 } }), refusal({ status: 400, param: 'budget' }))
  await t.rejects(createKey(admin, { account: 'a', expires_at: '2026-02-30' }), refusal({ status: 400, param: 'expires_at' }))
  await t.rejects(getKey(admin, 'nobody'), refusal({ status: 404, code: 'key_not_found' }))
  t.same((await listKeys(admin)).data, [])
})

forEachEngine(t, 'a change leaves absent settings as they are', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  const { id } = await createKey(admin, { account: 'a', label: 'app', models: ['x'], budget: { amount_usd: 5 } })
  const budget = { amount_nano: 5_000_000_000, period: null }
  t.match(await updateKey(admin, id, { label: 'renamed' }), { label: 'renamed', models: ['x'], budget })
  const other = { amount_nano: 7, period: 'day' as const }
  t.match(await updateKey(admin, id, { budget: other }), { label: 'renamed', budget: other })
  t.match(await updateKey(admin, id, { models: null, budget: null }), { label: 'renamed', models: null, budget: null })
  await t.rejects(updateKey(admin, 'nobody', {}), refusal({ status: 404 }))
})

forEachEngine(t, 'a key is shown with what it has spent of its budget', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  await addDeposit(admin, 'a', { amount_usd: 10 })
  const { id, key } = await createKey(admin, { account: 'a', budget: { amount_usd: 5, period: 'month' } })
  const { chainAt } = await admin.keys.authenticate(key)
  const hold = await admin.ledger.reserve({ id: 'r', chain: chainAt(Date.now()), key: id, amountNano: 3 })
  await hold.settle({ amountNano: 2, ref: 'r', model: 'm', usage: {}, estimated: false })
  t.match(await getKey(admin, id), { budget: { spent_nano: 2 } })
  t.match((await listKeys(admin)).data, [{ id, budget: { spent_nano: 2 } }])
})

forEachEngine(t, 'both secrets of a rotated key work during the grace period', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  const { id, key: first } = await createKey(admin, { account: 'a' })
  const second = await rotateKey(admin, id, {})
  t.equal(second.id, id)
  for (const key of [first, second.key]) t.match(await admin.keys.authenticate(key), { id })
  t.ok(Date.parse(second.previous_until ?? '') > Date.now())
  const third = await rotateKey(admin, id, { grace_seconds: 0 })
  t.match(await admin.keys.authenticate(third.key), { id })
  await t.rejects(async () => await admin.keys.authenticate(second.key), refusal({ status: 401 }))
  await t.rejects(rotateKey(admin, 'nobody', {}), refusal({ status: 404 }))
})

forEachEngine(t, 'a revoked key stays revoked', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  const { id, key } = await createKey(admin, { account: 'a' })
  const revoked = await revokeKey(admin, id)
  t.type(revoked.revoked_at, 'string')
  t.same(await revokeKey(admin, id), revoked)
  await t.rejects(async () => await admin.keys.authenticate(key), refusal({ status: 401 }))
  await t.rejects(updateKey(admin, id, { label: 'x' }), refusal({ status: 409 }))
  await t.rejects(revokeKey(admin, 'nobody'), refusal({ status: 404 }))
})

forEachEngine(t, 'keys are listed newest first, page by page, of one account or all', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  for (const id of ['a', 'b']) await createAccount(admin, { id })
  const ids: string[] = []
  for (const account of ['a', 'a', 'b']) ids.push((await createKey(admin, { account })).id)
  const first = await listKeys(admin, { limit: 2 })
  const second = await listKeys(admin, { limit: 2, after: first.next ?? '' })
  t.same(new Set([...first.data, ...second.data].map(({ id }) => id)), new Set(ids))
  t.match([first.has_more, second.has_more, second.next], [true, false, null])
  t.equal((await listKeys(admin, { account: 'a' })).data.length, 2)
  t.match(await listKeys(admin, { account: 'a', limit: 2 }), { has_more: false, next: null })
})
