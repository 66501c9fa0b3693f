import t from 'tap'
import { createAccount, getAccount, listAccounts } from '../../../services/admin/accounts.ts'
import { forEachEngine } from '../../engines.ts'
import { openOffice, refusal } from './helper.ts'

forEachEngine(t, 'an account is created once, however often it is asked for', async (t, { open }) => {
  const office = await openOffice(t, await open())
  const first = await createAccount(office, { id: 'team', name: 'The team' })
  t.match(first, { created: true, account: { object: 'account', id: 'team', name: 'The team', parent: null } })
  t.match(await createAccount(office, { id: 'team', name: 'The team' }), { ...first, created: false })
  await t.rejects(createAccount(office, { id: 'team', name: 'Others' }), refusal({ status: 409, param: 'id', code: 'account_exists' }))
  await t.rejects(createAccount(office, { id: 'team', parent: 'team' }), refusal({ status: 409 }))
})

forEachEngine(t, 'an account that makes no sense is refused', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await t.rejects(createAccount(office, { id: 'a', parent: 'nobody' }), refusal({ status: 400, param: 'parent' }))
  await t.rejects(createAccount(office, { id: 'a b' }), refusal({ status: 400, param: 'id' }))
  await t.rejects(createAccount(office, { id: 'revenue' }), refusal({ status: 400, param: 'id' }))
  await t.rejects(createAccount(office, { id: 'a', name: 'x'.repeat(201) }), refusal({ status: 400, param: 'name' }))
  await t.rejects(getAccount(office, 'a'), refusal({ status: 404, code: 'account_not_found' }))
  t.same((await listAccounts(office)).data, [])
})

forEachEngine(t, 'the figures of an account are exact in both units, at once', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  await office.accounts.deposit({ id: 'd', account: 'a', amountNano: 9_000_000_000_000_001 })
  const { id: key } = await office.keys.create({ account: 'a', label: '' })
  await office.spend({ account: 'a', key, amountNano: 123_456_789 })
  const held = await office.ledger.reserve({ id: 'h', chain: ['a'], key, amountNano: 1_000, durable: true })
  const text = JSON.stringify(await getAccount(office, 'a'))
  const figures = [
    '"credits_usd":9000000.000000001,"credits_nano":9000000000000001',
    '"spent_usd":0.123456789,"spent_nano":123456789',
    '"held_usd":0.000001,"held_nano":1000',
    '"balance_usd":8999999.876543212,"balance_nano":8999999876543212',
    '"available_usd":8999999.876542212,"available_nano":8999999876542212'
  ]
  for (const figure of figures) t.match(text, figure)
  await held.release()
  t.match(await getAccount(office, 'a'), { held_nano: 0, available_nano: 8_999_999_876_543_212 })
})

forEachEngine(t, 'what a node keeps for requests to come is available', async (t, { open }) => {
  const office = await openOffice(t, await open())
  await createAccount(office, { id: 'a' })
  await office.accounts.deposit({ id: 'd', account: 'a', amountNano: 10_000_000_000 })
  const { id: key } = await office.keys.create({ account: 'a', label: '' })
  const hold = await office.ledger.reserve({ id: 'h', chain: ['a'], key, amountNano: 5 })
  const row = await office.store.get<{ held: number }>('select held from account where id = $1', ['a'])
  t.ok(row !== undefined && row.held > 5)
  t.match(await getAccount(office, 'a'), { held_nano: 5, available_nano: 9_999_999_995 })
  await hold.release()
})

forEachEngine(t, 'accounts are listed by their ids, page by page', async (t, { open }) => {
  const office = await openOffice(t, await open())
  for (const id of ['c', 'a', 'b']) await createAccount(office, { id })
  const first = await listAccounts(office, { limit: 2 })
  t.match(first, { data: [{ id: 'a' }, { id: 'b' }], has_more: true })
  t.match(await listAccounts(office, { limit: 2, after: first.next ?? '' }), { data: [{ id: 'c' }], has_more: false, next: null })
})
