import t from 'tap'
import { entryKinds } from '../../../../schemas/admin/entries.ts'
import { createAccount } from '../../../../services/operations/admin/accounts.ts'
import { addAdjustment, addDeposit, addRefund, addTransfer, addWithdrawal } from '../../../../services/operations/admin/credits.ts'
import { listEntries, type EntryRequest } from '../../../../services/operations/admin/entries.ts'
import { clearSuspense, listSuspense } from '../../../../services/operations/admin/suspense.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { openAdministration } from './helper.ts'

forEachEngine(t, 'the entries of an account are the same with and without a period, page by page', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'org' })
  for (const id of ['a', 'a.b', 'c']) await createAccount(admin, { id, parent: 'org' })
  await createAccount(admin, { id: 'child', parent: 'a' })
  await addDeposit(admin, 'org', { amount_nano: 9_000 })
  for (const to of ['a', 'a.b', 'c']) await addTransfer(admin, 'org', { to, amount_nano: 1_000 })
  await addTransfer(admin, 'a', { to: 'child', amount_nano: 500 })
  const key = Object.fromEntries(await Promise.all(['a', 'a.b', 'c', 'child'].map(async account =>
    [account, (await admin.keys.create({ account, label: '' })).id] as const)))
  const chains = { a: ['a', 'org'], 'a.b': ['a.b', 'org'], c: ['c', 'org'], child: ['child', 'a', 'org'] }
  for (const [account, chain] of Object.entries(chains)) {
    for (let count = 0; count < 3; count++) {
      const ref = `${account}-${count}`
      const request = { id: ref, chain, key: key[account] ?? '', amountNano: 10, fresh: true }
      const hold = await admin.ledger.reserve(request)
      await hold.settle({ amountNano: count === 2 ? 30 : 10, ref, model: 'chat', usage: { prompt: 1 }, estimated: false })
    }
  }
  await admin.flush()
  for (const account of ['a', 'child']) {
    const charged = await listEntries(admin, { kind: 'usage', from: 0 })
    const { id: entry = '' } = charged.data.find(({ debit }) => debit === account) ?? {}
    await addRefund(admin, account, { entry })
  }
  const { data: [item] } = await listSuspense(admin, { account: 'child' })
  await clearSuspense(admin, item?.id ?? '', { reason: 'late' })
  await addWithdrawal(admin, 'a', { amount_nano: 1, reason: 'out' })
  await addAdjustment(admin, 'c', { amount_nano: 2, reason: 'gift' })

  const all = async (as: typeof admin, request: EntryRequest) => {
    const ids: string[] = []
    for (let after: string | undefined; ;) {
      const page = await listEntries(as, { ...request, limit: 2, after })
      ids.push(...page.data.map(({ id, kind }) => `${kind} ${id}`))
      if (page.next === null) return ids
      after = page.next
    }
  }
  for (const account of ['org', 'a', 'a.b', 'c', 'child', 'none']) {
    const user = { ...admin, actor: { ...admin.actor, account } }
    for (const kind of [undefined, ...entryKinds]) {
      for (const as of [admin, user]) {
        const expected = await all(as, { account, kind, from: 0 })
        t.same(await all(as, { account, kind }), expected, `${account} ${kind} ${as === user ? 'user' : ''}`)
        if (account === 'org' && kind === 'refund' && as === admin) t.equal(expected.length, 2)
        if (account === 'org' && kind === 'usage') t.equal(expected.length, as === admin ? 13 : 0)
      }
    }
  }
  t.same(await all(admin, { kind: 'refund' }), await all(admin, { kind: 'refund', from: 0 }))
  t.same(await all(admin, {}), await all(admin, { from: 0 }))
})
