import t from 'tap'
import type { Test } from 'tap'
import { createAccount, getAccount } from '../../../../services/operations/admin/accounts.ts'
import { addAdjustment, addDeposit, addRefund } from '../../../../services/operations/admin/credits.ts'
import { getEntry, listEntries, runLedgerCheck } from '../../../../services/operations/admin/entries.ts'
import type { EntryRequest } from '../../../../services/operations/admin/entries.ts'
import type { Store } from '../../../../services/store/store.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { openAdministration, refusal } from './helper.ts'

async function openWithAccounts (t: Test, open: () => Promise<Store>) {
  const admin = await openAdministration(t, await open())
  for (const id of ['a', 'b']) await createAccount(admin, { id })
  return admin
}

forEachEngine(t, 'a deposit is booked once for each id', async (t, { open }) => {
  const admin = await openWithAccounts(t, open)
  const first = await addDeposit(admin, 'a', { id: 'd1', amount_usd: 12.5 })
  t.match(first, {
    created: true,
    entry: { id: 'd1', kind: 'deposit', debit: 'funding', credit: 'a', amount_nano: 12_500_000_000 }
  })
  t.same(await addDeposit(admin, 'a', { id: 'd1', amount_nano: 12_500_000_000 }), { ...first, created: false })
  await t.rejects(addDeposit(admin, 'a', { id: 'd1', amount_usd: 1 }), refusal({ status: 409, code: 'idempotency_conflict' }))
  await t.rejects(addDeposit(admin, 'b', { id: 'd1', amount_usd: 12.5 }), refusal({ status: 409 }))
  t.match(await getAccount(admin, 'a'), { balance_nano: 12_500_000_000 })
  t.match(await getAccount(admin, 'b'), { balance_nano: 0 })
})

forEachEngine(t, 'deposits without an id are separate deposits', async (t, { open }) => {
  const admin = await openWithAccounts(t, open)
  const ids = [await addDeposit(admin, 'a', { amount_usd: 1 }), await addDeposit(admin, 'a', { amount_usd: 1 })]
  t.not(ids[0]?.entry.id, ids[1]?.entry.id)
  t.match(await getAccount(admin, 'a'), { balance_nano: 2_000_000_000 })
})

forEachEngine(t, 'a wrong posting is refused and changes nothing', async (t, { open }) => {
  const admin = await openWithAccounts(t, open)
  const most = Number.MAX_SAFE_INTEGER
  await addDeposit(admin, 'a', { amount_nano: most })
  await t.rejects(addDeposit(admin, 'a', { amount_nano: 1 }), refusal({ status: 400, param: 'amount_usd' }))
  await t.rejects(addDeposit(admin, 'a', { amount_usd: -1 }), refusal({ status: 400, param: 'amount_usd' }))
  await t.rejects(addDeposit(admin, 'a', { amount_nano: 0 }), refusal({ status: 400, param: 'amount_nano' }))
  await t.rejects(addDeposit(admin, 'a', {}), refusal({ status: 400, code: 'missing_required_parameter' }))
  await t.rejects(addDeposit(admin, 'c', { amount_usd: 1 }), refusal({ status: 404, code: 'account_not_found' }))
  for (const id of ['usage:r', 'entry_1']) {
    await t.rejects(addDeposit(admin, 'b', { id, amount_usd: 1 }), refusal({ status: 400, param: 'id' }), id)
  }
  await t.rejects(addAdjustment(admin, 'b', { amount_nano: 0, reason: 'r' }), refusal({ status: 400, param: 'amount_nano' }))
  await t.rejects(addAdjustment(admin, 'b', { amount_usd: -1, reason: 'r' }), refusal({ status: 400 }))
  await t.rejects(addAdjustment(admin, 'b', { amount_usd: 1, reason: '' }), refusal({ status: 400, param: 'reason' }))
  await t.rejects(addRefund(admin, 'b', { entry: 'nothing' }), refusal({ status: 404, code: 'entry_not_found' }))
  t.equal((await listEntries(admin)).data.length, 1)
})

forEachEngine(t, 'a refund returns the rest of an entry, or part of it', async (t, { open }) => {
  const admin = await openWithAccounts(t, open)
  await addDeposit(admin, 'a', { amount_usd: 1 })
  const { id: key } = await admin.keys.create({ account: 'a', label: '' })
  await admin.spend({ account: 'a', key, amountNano: 1 })
  const entry = await admin.spend({ account: 'a', key, amountNano: 500_000_000 })
  t.match(entry, /^entry_\d+$/)
  t.match(await getEntry(admin, entry), { id: entry, kind: 'usage', key, amount_nano: 500_000_000 })
  t.match((await listEntries(admin)).data, [{ id: entry }, { kind: 'usage' }, { kind: 'deposit' }])
  for (const { id } of (await listEntries(admin)).data) t.match(await getEntry(admin, id), { id })
  const part = await addRefund(admin, 'a', { id: 'r1', entry, amount_usd: 0.2 })
  t.match(part, { created: true, entry: { kind: 'refund', debit: 'revenue', credit: 'a', amount_nano: 200_000_000, reverses: entry } })
  t.same(await addRefund(admin, 'a', { id: 'r1', entry, amount_usd: 0.2 }), { ...part, created: false })
  t.match(await addRefund(admin, 'a', { id: 'r2', entry }), { entry: { amount_nano: 300_000_000 } })
  await t.rejects(addRefund(admin, 'a', { entry, amount_nano: 1 }), refusal({ status: 400 }))
  await t.rejects(addRefund(admin, 'b', { entry, amount_nano: 1 }), refusal({ status: 404 }), 'an entry of another account')
  await t.rejects(addRefund(admin, 'a', { entry: 'r1' }), refusal({ status: 404 }), 'a refund as the entry')
  t.match(await getAccount(admin, 'a'), { spent_nano: 1, balance_nano: 999_999_999 })
  for (const other of [entry.replace('_', '_0'), 'entry_1', 'entry_99', 'entry_', `entry_${'9'.repeat(30)}`]) {
    await t.rejects(addRefund(admin, 'a', { entry: other, amount_nano: 1 }), refusal({ status: 404 }), other)
  }
})

forEachEngine(t, 'an adjustment adds or removes credits', async (t, { open }) => {
  const admin = await openWithAccounts(t, open)
  await addAdjustment(admin, 'a', { id: 'x', amount_usd: 3, reason: 'a gift' })
  const taken = await addAdjustment(admin, 'a', { id: 'y', amount_usd: -1, reason: 'too much' })
  t.match(taken.entry, { kind: 'adjust', debit: 'a', credit: 'funding', amount_nano: 1_000_000_000, reason: 'too much' })
  t.match(await addAdjustment(admin, 'a', { id: 'y', amount_usd: -1, reason: 'too much' }), { created: false })
  t.match(await getAccount(admin, 'a'), { balance_nano: 2_000_000_000 })
})

forEachEngine(t, 'entries are listed newest first, by account, kind and time', async (t, { open }) => {
  const admin = await openWithAccounts(t, open)
  await admin.accounts.deposit({ id: 'd1', account: 'a', amountNano: 1, at: 1_000 })
  await admin.accounts.deposit({ id: 'd2', account: 'b', amountNano: 2, at: 2_000 })
  await admin.accounts.deposit({ id: 'd3', account: 'a', amountNano: 3, at: 3_000 })
  await addAdjustment(admin, 'a', { id: 'x', amount_nano: -1, reason: 'r' })
  const ids = async (request: EntryRequest) =>
    (await listEntries(admin, request)).data.map(({ id }) => id)
  t.same(await ids({}), ['x', 'd3', 'd2', 'd1'])
  t.same(await ids({ account: 'a' }), ['x', 'd3', 'd1'])
  t.same(await ids({ account: 'a', kind: 'deposit' }), ['d3', 'd1'])
  t.same(await ids({ from: 2_000, to: 3_000 }), ['d2'])
  const first = await listEntries(admin, { limit: 2, account: 'a' })
  t.same(await ids({ limit: 2, account: 'a', after: first.next ?? '' }), ['d1'])
})

forEachEngine(t, 'the check of the ledger finds inconsistencies', async (t, { open }) => {
  const admin = await openWithAccounts(t, open)
  await addDeposit(admin, 'a', { amount_usd: 1 })
  t.same(await runLedgerCheck(admin), { object: 'ledger_check', ok: true, checked_entries: 1, violations: [] })
  await admin.store.run('update account set credits = credits + 1 where id = $1', ['a'])
  t.match(await runLedgerCheck(admin), {
    ok: false,
    violations: [{
      subject: 'a', expected: 1_000_000_000, found: 1_000_000_001, meaning: /credits/, advice: /tollgate credits adjust/
    }]
  })
})
