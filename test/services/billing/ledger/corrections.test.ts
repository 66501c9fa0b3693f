import t from 'tap'
import type { Test } from 'tap'
import { createCorrections } from '../../../../services/billing/ledger/corrections.ts'
import { entryId } from '../../../../services/billing/ledger/entry-id.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import type { Database } from '../../../helpers/engines.ts'
import { assertBooks, createBooks, reservation, rowOf, spend, startLedger } from './helper.ts'

const tooMuch = { name: 'GatewayError', message: /^Less (than that )?is / }
const conflict = { status: 409, code: 'idempotency_conflict' }

/** An account with 1,000 of which one request has spent 600, together with a budget. */
async function setUp (t: Test, database: Database) {
  const store = await database.open()
  await createBooks(store, { acme: 1_000, budget: 800 })
  const { ledger } = startLedger(t, store, { options: { chunkNano: 0 } })
  await spend(ledger, 700, 600, { id: 'job', chain: ['acme', 'budget'] })
  const usage = await store.get<{ seq: number }>("select seq from entry where kind = 'usage'")
  const usageSeq = usage?.seq ?? 0
  const corrections = createCorrections(store, () => 42)
  return { store, ledger, corrections, usageSeq, usageId: entryId(usageSeq) }
}

forEachEngine(t, 'a refund takes back a charge on every account of its chain', async (t, database) => {
  const { store, ledger, corrections, usageId, usageSeq } = await setUp(t, database)
  t.equal(await corrections.refund({ id: 'f1', entry: usageId, amountNano: 150 }), true)
  t.match(await rowOf(store), { credits: 1_000, spent: 450 })
  t.match(await rowOf(store, 'budget'), { spent: 450 })
  t.match(await store.all("select * from entry where kind = 'refund'"), [{
    idempotency_key: 'f1', at: 42, debit: 'revenue', credit: 'acme', amount: 150, reverses: usageSeq, ref: 'req', chain: 'acme budget'
  }])
  t.equal(await corrections.refund({ id: 'f2', entry: usageId }), true, 'all that is left')
  t.match(await rowOf(store), { spent: 0 })
  const hold = await ledger.reserve(reservation(1_000))
  await hold.release()
  await assertBooks(t, store)
})

forEachEngine(t, 'repeating a refund is a no-op', async (t, database) => {
  const { store, corrections, usageId } = await setUp(t, database)
  const refund = { id: 'f1', entry: usageId, amountNano: 100 }
  t.same((await Promise.all([corrections.refund(refund), corrections.refund(refund)])).sort(), [false, true])
  t.equal(await corrections.refund({ id: 'f1', entry: usageId }), false)
  t.match(await rowOf(store), { spent: 500 })
  await t.rejects(corrections.refund({ ...refund, amountNano: 101 }), conflict)
  await t.rejects(corrections.refund({ ...refund, id: 'deposit-acme' }), conflict)
  await assertBooks(t, store)
})

forEachEngine(t, 'concurrent refunds never exceed the charge', async (t, database) => {
  const { store, corrections, usageId } = await setUp(t, database)
  await t.rejects(corrections.refund({ id: 'f', entry: usageId, amountNano: 601 }), tooMuch)
  await t.rejects(corrections.refund({ id: 'f', entry: 'entry_999' }), { status: 404, code: 'entry_not_found' })
  await t.rejects(corrections.refund({ id: 'f', entry: 'deposit-acme' }), { status: 404, code: 'entry_not_found' })
  for (const amountNano of [0, -1, 0.5]) {
    await t.rejects(corrections.refund({ id: 'f', entry: usageId, amountNano }), RangeError)
  }
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, index) =>
    corrections.refund({ id: `f${index}`, entry: usageId, amountNano: 200 })))
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
  await t.rejects(corrections.refund({ id: 'f', entry: usageId }), tooMuch, 'nothing is left')
  t.match(await rowOf(store), { spent: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'an adjustment adds to the credits or takes from them, with its reason', async (t, database) => {
  const { store, corrections } = await setUp(t, database)
  t.equal(await corrections.adjust({ id: 'a1', account: 'acme', amountNano: 70, reason: 'goodwill' }), true)
  t.equal(await corrections.adjust({ id: 'a2', account: 'acme', amountNano: -20, reason: 'typing error' }), true)
  t.match(await rowOf(store), { credits: 1_050, spent: 600 })
  t.match(await store.all("select * from entry where kind = 'adjust' order by seq"), [
    { idempotency_key: 'a1', debit: 'funding', credit: 'acme', amount: 70, reason: 'goodwill' },
    { idempotency_key: 'a2', debit: 'acme', credit: 'funding', amount: 20, reason: 'typing error' }
  ])
  await assertBooks(t, store)
})

forEachEngine(t, 'repeating an adjustment is a no-op', async (t, database) => {
  const { store, corrections } = await setUp(t, database)
  const adjustment = { id: 'a1', account: 'acme', amountNano: -70, reason: 'typing error' }
  const booked = await Promise.all([corrections.adjust(adjustment), corrections.adjust(adjustment)])
  t.same(booked.sort(), [false, true])
  t.match(await rowOf(store), { credits: 930 })
  await t.rejects(corrections.adjust({ ...adjustment, amountNano: 70 }), conflict)
  await t.rejects(corrections.adjust({ ...adjustment, amountNano: -71 }), conflict)
  await t.rejects(corrections.adjust({ ...adjustment, id: 'usage:job' }), conflict)
  await assertBooks(t, store)
})

forEachEngine(t, 'an adjustment takes no more than is available', async (t, database) => {
  const { store, ledger, corrections } = await setUp(t, database)
  const hold = await ledger.reserve(reservation(300))
  const adjust = (amountNano: number) =>
    corrections.adjust({ id: 'a1', account: 'acme', amountNano, reason: 'chargeback' })
  await t.rejects(adjust(-101), tooMuch)
  t.equal(await adjust(-100), true)
  await hold.settle({ amountNano: 300, ref: 'r', model: 'm', usage: {}, estimated: false })
  t.same(await ledger.balance('acme'), { creditsNano: 900, spentNano: 900, heldNano: 0, availableNano: 0 })
  await t.rejects(adjust(0), RangeError)
  await t.rejects(adjust(0.5), RangeError)
  await t.rejects(corrections.adjust({ id: 'a2', account: 'acme', amountNano: 1, reason: '' }), { message: /reason/ })
  const other = { id: 'a3', account: 'acme', amountNano: Number.MAX_SAFE_INTEGER, reason: 'x' }
  await t.rejects(corrections.adjust({ ...other, account: 'nobody' }), { code: 'account_not_found' })
  await t.rejects(corrections.adjust(other), RangeError)
  await assertBooks(t, store)
})
