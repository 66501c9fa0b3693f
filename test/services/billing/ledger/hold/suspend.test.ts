import { forEachEngine } from '../../../../helpers/engines.ts'
import t from 'tap'
import { assertBooks, createBooks, rowOf, startLedger } from '../helper.ts'

forEachEngine(t, 'a hold that is suspended costs its account nothing, once', async (t, { open }) => {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const { ledger } = startLedger(t, store)
  for (const fresh of [true, false]) {
    const hold = await ledger.reserve({ id: `hold_${fresh}`, chain: ['acme'], key: 'key', amountNano: 400, fresh })
    const posting = { ref: `request_${fresh}`, model: 'm', provider: 'p', tags: null, amountNano: 300, usage: { images: 1 }, estimated: false }
    await Promise.all([hold.suspend(posting), hold.suspend(posting), hold.settle(posting), hold.release()])
    await ledger.flush()
    t.equal(hold.chargedNano, 0)
    t.match(await store.all('select kind, debit, amount, reason from entry where ref = $1', [posting.ref]),
      [{ kind: 'suspense', debit: 'suspense', amount: 300, reason: 'unverified' }])
  }
  t.match(await rowOf(store), { spent: 0 })
  t.match(await ledger.balance('acme'), { spentNano: 0, heldNano: 0 })
  t.equal(ledger.suspendedCount, 2)
  await assertBooks(t, store)
})
