import t from 'tap'
import { createAccount } from '../../../services/admin/accounts.ts'
import { addDeposit } from '../../../services/admin/credits.ts'
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from '../../../services/admin/keys.ts'
import { forEachEngine } from '../../engines.ts'
import { openOffice, refusal } from './helper.ts'

forEachEngine(t, 'a key is created with what it may do, and shows its secret once', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  const { key, ...shown } = await createKey(office, {
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
  t.same(await getKey(office, shown.id), shown)
  t.match(await office.keys.authenticate(key), { id: shown.id, account: 'a' })
})

forEachEngine(t, 'a key that makes no sense is refused', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  await t.rejects(createKey(office, { account: 'b' }), refusal({ status: 400, param: 'account' }))
  await t.rejects(createKey(office, { account: 'a', models: [] }), refusal({ status: 400, param: 'models' }))
  await t.rejects(createKey(office, { account: 'a', budget: {} }), refusal({ status: 400, param: 'amount_usd' }))
  await t.rejects(createKey(office, { account: 'a', budget: { amount_usd: -1 } }), refusal({ status: 400, param: 'budget' }))
  await t.rejects(createKey(office, { account: 'a', expires_at: '2026-02-30' }), refusal({ status: 400, param: 'expires_at' }))
  await t.rejects(getKey(office, 'nobody'), refusal({ status: 404, code: 'key_not_found' }))
  t.same((await listKeys(office)).data, [])
})

forEachEngine(t, 'a change leaves alone what it does not name', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  const { id } = await createKey(office, { account: 'a', label: 'app', models: ['x'], budget: { amount_usd: 5 } })
  const budget = { amount_nano: 5_000_000_000, period: null }
  t.match(await updateKey(office, id, { label: 'renamed' }), { label: 'renamed', models: ['x'], budget })
  const other = { amount_nano: 7, period: 'day' as const }
  t.match(await updateKey(office, id, { budget: other }), { label: 'renamed', budget: other })
  t.match(await updateKey(office, id, { models: null, budget: null }), { label: 'renamed', models: null, budget: null })
  await t.rejects(updateKey(office, 'nobody', {}), refusal({ status: 404 }))
})

forEachEngine(t, 'what a key has spent of its budget is shown with it', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  await addDeposit(office, 'a', { amount_usd: 10 })
  const { id, key } = await createKey(office, { account: 'a', budget: { amount_usd: 5, period: 'month' } })
  const { chainAt } = await office.keys.authenticate(key)
  const hold = await office.ledger.reserve({ id: 'r', chain: chainAt(Date.now()), key: id, amountNano: 3 })
  await hold.settle({ amountNano: 2, ref: 'r', model: 'm', usage: {}, estimated: false })
  t.match(await getKey(office, id), { budget: { spent_nano: 2 } })
  t.match((await listKeys(office)).data, [{ id, budget: { spent_nano: 2 } }])
})

forEachEngine(t, 'a rotated key works in both forms for its grace', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  const { id, key: first } = await createKey(office, { account: 'a' })
  const second = await rotateKey(office, id, {})
  t.equal(second.id, id)
  for (const key of [first, second.key]) t.match(await office.keys.authenticate(key), { id })
  t.ok(Date.parse(second.previous_until ?? '') > Date.now())
  const third = await rotateKey(office, id, { grace_seconds: 0 })
  t.match(await office.keys.authenticate(third.key), { id })
  await t.rejects(async () => await office.keys.authenticate(second.key), refusal({ status: 401 }))
  await t.rejects(rotateKey(office, 'nobody', {}), refusal({ status: 404 }))
})

forEachEngine(t, 'a revoked key stays revoked', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  const { id, key } = await createKey(office, { account: 'a' })
  const revoked = await revokeKey(office, id)
  t.type(revoked.revoked_at, 'string')
  t.same(await revokeKey(office, id), revoked)
  await t.rejects(async () => await office.keys.authenticate(key), refusal({ status: 401 }))
  await t.rejects(updateKey(office, id, { label: 'x' }), refusal({ status: 409 }))
  await t.rejects(revokeKey(office, 'nobody'), refusal({ status: 404 }))
})

forEachEngine(t, 'keys are listed newest first, page by page, of one account or all', async (t, { open }) => {
  const office = await openOffice(t, await open())
  for (const id of ['a', 'b']) await createAccount(office, { id })
  const ids: string[] = []
  for (const account of ['a', 'a', 'b']) ids.push((await createKey(office, { account })).id)
  const first = await listKeys(office, { limit: 2 })
  const second = await listKeys(office, { limit: 2, after: first.next ?? '' })
  t.same(new Set([...first.data, ...second.data].map(({ id }) => id)), new Set(ids))
  t.match([first.has_more, second.has_more, second.next], [true, false, null])
  t.equal((await listKeys(office, { account: 'a' })).data.length, 2)
  t.match(await listKeys(office, { account: 'a', limit: 2 }), { has_more: false, next: null })
})
