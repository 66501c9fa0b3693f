import t from 'tap'
import type { Test } from 'tap'
import { createAccount, getAccount } from '../../../../services/operations/admin/accounts.ts'
import { addDeposit, addRefund } from '../../../../services/operations/admin/credits.ts'
import { listEntries, runLedgerCheck } from '../../../../services/operations/admin/entries.ts'
import { clearSuspense, listSuspense, writeOffSuspense } from '../../../../services/operations/admin/suspense.ts'
import { listUsage } from '../../../../services/operations/admin/usage.ts'
import { createAccountMoves } from '../../../../services/billing/ledger/account-moves.ts'
import { createJobHolds } from '../../../../services/billing/ledger/hold/job-holds.ts'
import { readOpenSuspense } from '../../../../services/billing/ledger/suspense.ts'
import type { Store } from '../../../../services/store/store.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { openAdministration, refusal } from './helper.ts'

const because = { reason: 'asked the provider' }

/** An account `a` with 1000 nano-USD, charged 100 for a request that cost `costNano`. */
async function openWithExcess (t: Test, open: () => Promise<Store>, costNano = 400) {
  const store = await open()
  const admin = await openAdministration(t, store)
  await createAccount(admin, { id: 'org' })
  await createAccount(admin, { id: 'a', parent: 'org' })
  await addDeposit(admin, 'a', { amount_nano: 1_000 })
  const { id: key } = await admin.keys.create({ account: 'a', label: 'k' })
  const request = { chain: ['a', 'org'], key, amountNano: 100, fresh: true }
  const posting = { model: 'chat', provider: 'up', usage: { prompt: 3, completion: 5 }, estimated: false }
  const hold = await admin.ledger.reserve({ id: 'h1', ...request })
  await hold.settle({ ...posting, amountNano: costNano, ref: 'req-1' })
  const { data: [item] } = await listSuspense(admin)
  return { store, admin, key, request, posting, id: item?.id ?? '' }
}

async function assertBooks (t: Test, admin: Awaited<ReturnType<typeof openAdministration>>): Promise<void> {
  t.match(await runLedgerCheck(admin), { ok: true, violations: [] })
}

forEachEngine(t, 'what is in suspense is listed with its request', async (t, { open }) => {
  const { store, admin, key, id } = await openWithExcess(t, open)
  t.match(await listSuspense(admin), {
    has_more: false,
    data: [{
      object: 'suspense_item',
      id: /^entry_\d+$/,
      state: 'open',
      reason: 'over_hold',
      account: 'a',
      key,
      model: 'chat',
      provider: 'up',
      ref: 'req-1',
      amount_nano: 300,
      usage: { prompt: 3, completion: 5 },
      estimated: false,
      closing: null
    }]
  })
  const ids = async (request: Parameters<typeof listSuspense>[1]) =>
    (await listSuspense(admin, request)).data.map(({ id }) => id)
  t.same(await ids({ state: 'open', account: 'a' }), [id])
  t.same(await ids({ state: 'cleared' }), [])
  t.same(await ids({ account: 'org' }), [], 'the account that pays')
  t.same(await readOpenSuspense(store), { count: 1, amountUsd: 3e-7 })
  await t.rejects(listSuspense(admin, { after: 'x' }), refusal({ status: 400, param: 'after' }))
})

forEachEngine(t, 'an amount is cleared once: it is charged on the whole chain', async (t, { open }) => {
  const { store, admin, id } = await openWithExcess(t, open)
  const cleared = await clearSuspense(admin, id, because)
  t.match(cleared, {
    created: true, item: { id, state: 'cleared', closing: { actor: 'cli:tester', reason: 'asked the provider' } }
  })
  t.same(await clearSuspense(admin, id, { reason: 'again' }), { ...cleared, created: false })
  await t.rejects(writeOffSuspense(admin, id, because), refusal({ status: 409, param: 'id', code: 'entry_closed' }))
  for (const account of ['a', 'org']) t.match(await getAccount(admin, account), { spent_nano: 400, available_nano: 600 })
  t.same(await readOpenSuspense(store), { count: 0, amountUsd: 0 })

  const { data: [closing, , usage] } = await listEntries(admin)
  t.match(closing, {
    id: cleared.item.closing?.entry, kind: 'usage', debit: 'a', credit: 'suspense', amount_nano: 300, reverses: id, usage: null
  })
  t.match(usage, { kind: 'usage', debit: 'a', amount_nano: 100, usage: { excessNano: 300 } })
  t.match((await listUsage(admin, { by: ['model'] })).data, [{ requests: 1, prompt_tokens: 3, cost_nano: 400 }])
  t.match(await store.all("select actor, target from audit where action = 'suspense.clear'"),
    [{ actor: 'cli:tester', target: 'account:a' }])
  await assertBooks(t, admin)

  await addRefund(admin, 'a', { entry: closing?.id ?? '' })
  t.match(await getAccount(admin, 'org'), { spent_nano: 100 }, 'what was cleared can be refunded')
  await assertBooks(t, admin)
})

forEachEngine(t, 'an amount is written off once: no account pays', async (t, { open }) => {
  const { store, admin, id } = await openWithExcess(t, open)
  const written = await writeOffSuspense(admin, id, because)
  t.match(written, { created: true, item: { id, state: 'written_off', closing: { reason: 'asked the provider' } } })
  t.same(await writeOffSuspense(admin, id, because), { ...written, created: false })
  await t.rejects(clearSuspense(admin, id, because), refusal({ status: 409, code: 'entry_closed' }))
  t.match(await getAccount(admin, 'a'), { spent_nano: 100 })
  t.match((await listEntries(admin, { kind: 'suspense' })).data, [
    { debit: 'revenue', credit: 'suspense', amount_nano: 300, reverses: id }, { id, debit: 'suspense', credit: 'revenue' }
  ])
  t.match((await listSuspense(admin)).data.map(({ state }) => state), ['written_off'], 'a closing is no item')
  t.same(await readOpenSuspense(store), { count: 0, amountUsd: 0 })
  await assertBooks(t, admin)
})

forEachEngine(t, 'an account without the money is not charged, whichever of the chain it is', async (t, { open }) => {
  const { admin, id, key } = await openWithExcess(t, open, 5_000)
  await admin.spend({ account: 'org', key, amountNano: 100 })
  await t.rejects(clearSuspense(admin, id, because), refusal({ status: 400, code: 'insufficient_credits' }))
  await addDeposit(admin, 'a', { amount_nano: 4_000 })
  await t.rejects(clearSuspense(admin, id, because), { status: 400, message: /account `org`/ })
  t.match(await getAccount(admin, 'a'), { spent_nano: 100 })
  await addDeposit(admin, 'org', { amount_nano: 100 })
  t.match(await clearSuspense(admin, id, because), { created: true })
  t.match(await getAccount(admin, 'org'), { available_nano: 0 })
  await assertBooks(t, admin)
})

forEachEngine(t, 'an account that has moved is charged with its present parents', async (t, { open }) => {
  const { store, admin, id } = await openWithExcess(t, open)
  await createAccount(admin, { id: 'other' })
  await store.run("update account set frozen_at = 1 where id = 'a'")
  await createAccountMoves(store).move('a', 'other')
  t.match(await clearSuspense(admin, id, because), { created: true })
  t.match(await getAccount(admin, 'other'), { spent_nano: 300, available_nano: 600 })
  t.match(await getAccount(admin, 'org'), { spent_nano: 100, available_nano: 0 })
  await assertBooks(t, admin)
})

forEachEngine(t, 'an amount of a closed account can only be written off', async (t, { open }) => {
  const { store, admin, id } = await openWithExcess(t, open)
  await createAccountMoves(store).close('a', { takeOut: true })
  await t.rejects(clearSuspense(admin, id, because), refusal({ status: 409 }))
  t.match(await writeOffSuspense(admin, id, because), { created: true })
  await assertBooks(t, admin)
})

forEachEngine(t, 'ten closings of one amount at once are one', async (t, { open }) => {
  const { admin, id } = await openWithExcess(t, open)
  const settled = await Promise.allSettled(Array.from({ length: 10 }, async (_, index) =>
    await (index % 2 === 0 ? clearSuspense : writeOffSuspense)(admin, id, because)))
  const created = settled.flatMap(one => one.status === 'fulfilled' && one.value.created ? [one.value] : [])
  t.equal(created.length, 1)
  t.equal(settled.filter(({ status }) => status === 'rejected').length, 5)
  await assertBooks(t, admin)
})

forEachEngine(t, 'what came too late, and a job that the provider may charge, are closed alike', async (t, { open }) => {
  const { store, admin, request, posting } = await openWithExcess(t, open)
  await admin.ledger.reserve({ ...request, id: 'job', durable: true, fresh: false })
  await store.transaction(async queries => {
    const job = { id: 'job', chain: request.chain, key: request.key, amountNano: 100 }
    await createJobHolds(store.engine).suspend(queries, job, { ...posting, amountNano: 100, ref: 'job' }, 7)
  })
  const expired = await admin.ledger.reserve({ ...request, id: 'old', durable: true, fresh: false })
  await store.run("update hold set state = 3, resolved_at = 1 where id = 'old'")
  await store.run("update account set held = held - 100 where id in ('a', 'org')")
  await expired.settle({ ...posting, amountNano: 90, ref: 'late' })
  const { data } = await listSuspense(admin, { state: 'open' })
  t.match(data, [
    { ref: 'late', reason: 'late', amount_nano: 90 },
    { ref: 'job', reason: 'unverified', amount_nano: 100 },
    { ref: 'req-1', reason: 'over_hold' }
  ])
  for (const { id } of data) t.match(await clearSuspense(admin, id, because), { created: true })
  t.match((await listUsage(admin, { by: ['model'] })).data, [{ requests: 3, prompt_tokens: 9, cost_nano: 590 }])
  await assertBooks(t, admin)
})

forEachEngine(t, 'only what is in suspense can be closed', async (t, { open }) => {
  const { admin, id } = await openWithExcess(t, open)
  const { item } = await writeOffSuspense(admin, id, because)
  const { data: [usage] } = await listEntries(admin, { kind: 'usage' })
  for (const wrong of ['entry_999', 'nothing', usage?.id ?? '', item.closing?.entry ?? '']) {
    for (const close of [clearSuspense, writeOffSuspense]) {
      await t.rejects(close(admin, wrong, because), refusal({ status: 404, code: 'entry_not_found' }), wrong)
    }
  }
  await assertBooks(t, admin)
})
