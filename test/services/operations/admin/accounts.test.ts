import t from 'tap'
import { createAccount, getAccount, listAccounts } from '../../../../services/operations/admin/accounts.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { openAdministration, refusal } from './helper.ts'

forEachEngine(t, 'creating the same account again has no effect', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  const first = await createAccount(admin, { id: 'team', name: 'The team' })
  t.match(first, { created: true, account: { object: 'account', id: 'team', name: 'The team', parent: null } })
  t.match(await createAccount(admin, { id: 'team', name: 'The team' }), { ...first, created: false })
  await t.rejects(createAccount(admin, { id: 'team', name: 'Others' }), refusal({ status: 409, param: 'id', code: 'account_exists' }))
  await t.rejects(createAccount(admin, { id: 'team', parent: 'team' }), refusal({ status: 409 }))
})

forEachEngine(t, 'a wrong account is refused', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await t.rejects(createAccount(admin, { id: 'a', parent: 'nobody' }), refusal({ status: 400, param: 'parent' }))
  await t.rejects(createAccount(admin, { id: 'a b' }), refusal({ status: 400, param: 'id' }))
  await t.rejects(createAccount(admin, { id: 'revenue' }), refusal({ status: 400, param: 'id' }))
  await t.rejects(createAccount(admin, { id: 'a', name: 'x'.repeat(201) }), refusal({ status: 400, param: 'name' }))
  await t.rejects(getAccount(admin, 'a'), refusal({ status: 404, code: 'account_not_found' }))
  t.same((await listAccounts(admin)).data, [])
})

forEachEngine(t, 'the balances of an account are exact in both units, and up to date', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  await admin.accounts.deposit({ id: 'd', account: 'a', amountNano: 9_000_000_000_000_001 })
  const { id: key } = await admin.keys.create({ account: 'a', label: '' })
  await admin.spend({ account: 'a', key, amountNano: 123_456_789 })
  const held = await admin.ledger.reserve({ id: 'h', chain: ['a'], key, amountNano: 1_000, durable: true })
  const text = JSON.stringify(await getAccount(admin, 'a'))
  const figures = [
    '"credits_usd":9000000.000000001,"credits_nano":9000000000000001',
    '"spent_usd":0.123456789,"spent_nano":123456789',
    '"held_usd":0.000001,"held_nano":1000',
    '"balance_usd":8999999.876543212,"balance_nano":8999999876543212',
    '"available_usd":8999999.876542212,"available_nano":8999999876542212'
  ]
  for (const figure of figures) t.match(text, figure)
  await held.release()
  t.match(await getAccount(admin, 'a'), { held_nano: 0, available_nano: 8_999_999_876_543_212 })
})

forEachEngine(t, 'what a node holds in reserve for future requests is available', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  await admin.accounts.deposit({ id: 'd', account: 'a', amountNano: 10_000_000_000 })
  const { id: key } = await admin.keys.create({ account: 'a', label: '' })
  const hold = await admin.ledger.reserve({ id: 'h', chain: ['a'], key, amountNano: 5 })
  const row = await admin.store.get<{ held: number }>('select held from account where id = $1', ['a'])
  t.ok(row !== undefined && row.held > 5)
  t.match(await getAccount(admin, 'a'), { held_nano: 5, available_nano: 9_999_999_995 })
  await hold.release()
})

forEachEngine(t, 'accounts are listed by id, page by page', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  for (const id of ['c', 'a', 'b']) await createAccount(admin, { id })
  const first = await listAccounts(admin, { limit: 2 })
  t.match(first, { data: [{ id: 'a' }, { id: 'b' }], has_more: true })
  t.match(await listAccounts(admin, { limit: 2, after: first.next ?? '' }), { data: [{ id: 'c' }], has_more: false, next: null })
})
