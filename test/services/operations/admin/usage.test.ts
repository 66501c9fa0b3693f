import t from 'tap'
import type { Test } from 'tap'
import { createAccount } from '../../../../services/operations/admin/accounts.ts'
import { addDeposit, addRefund } from '../../../../services/operations/admin/credits.ts'
import { createKey } from '../../../../services/operations/admin/keys.ts'
import { listUsage, toDimensions, usageCsv } from '../../../../services/operations/admin/usage.ts'
import type { Store } from '../../../../services/store/store.ts'
import type { Posting } from '../../../../services/billing/ledger/ledger.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { openAdministration, refusal } from './helper.ts'

const today = () => new Date().toISOString().slice(0, 10)

async function openWithUsage (t: Test, open: () => Promise<Store>) {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  await addDeposit(admin, 'a', { amount_usd: 10 })
  const { id: key } = await createKey(admin, { account: 'a' })
  const entry = await admin.spend({ account: 'a', key, amountNano: 5, model: 'small' })
  await admin.spend({ account: 'a', key, amountNano: 7, model: 'small' })
  await admin.spend({ account: 'a', key, amountNano: 1_000_000_000, model: '=big' })
  return { admin, key, entry }
}

forEachEngine(t, 'usage is grouped by the requested dimensions', async (t, { open }) => {
  const { admin, key } = await openWithUsage(t, open)
  const byModel = await listUsage(admin, { by: ['model'] })
  const none = {
    object: 'usage',
    account: null,
    key: null,
    label: null,
    provider: null,
    day: null,
    week: null,
    month: null,
    estimated: null,
    tags: null,
    estimated_requests: 0,
    cached_tokens: 0,
    reasoning_tokens: 0,
    images: 0,
    seconds: 0,
    costed_requests: 0,
    saved_usd: 0,
    saved_nano: 0,
    provider_cost_usd: null,
    provider_cost_nano: null,
    margin_usd: null,
    margin_nano: null
  }
  t.same(JSON.parse(JSON.stringify(byModel.data)), [
    {
      ...none,
      model: '=big',
      requests: 1,
      prompt_tokens: 3,
      completion_tokens: 5,
      cost_usd: 1,
      cost_nano: 1_000_000_000
    },
    {
      ...none,
      model: 'small',
      requests: 2,
      prompt_tokens: 6,
      completion_tokens: 10,
      cost_usd: 12e-9,
      cost_nano: 12
    }
  ])
  t.match((await listUsage(admin, { by: ['key', 'day'] })).data, [{ key, model: null, day: today(), requests: 3 }])
  t.match((await listUsage(admin, { by: ['day'], model: 'small' })).data, [{ requests: 2 }])
  t.same((await listUsage(admin, { by: ['day'], to: Date.now() - 86_400_000 })).data, [])
})

forEachEngine(t, 'a refund is subtracted', async (t, { open }) => {
  const { admin, entry } = await openWithUsage(t, open)
  await addRefund(admin, 'a', { entry, amount_nano: 2 })
  t.match((await listUsage(admin, { by: ['key'], model: 'small' })).data, [{ requests: 2, cost_nano: 10 }])
})

forEachEngine(t, 'usage is returned in pages, and as CSV in full', async (t, { open }) => {
  const { admin } = await openWithUsage(t, open)
  const first = await listUsage(admin, { by: ['model', 'day'], limit: 1 })
  t.match(first, { data: [{ model: '=big' }], has_more: true })
  const second = await listUsage(admin, { by: ['model', 'day'], limit: 1, after: first.next ?? '' })
  t.match(second, { data: [{ model: 'small' }], has_more: false, next: null })
  await t.rejects(listUsage(admin, { by: ['model'], after: first.next ?? '' }), refusal({ status: 400, param: 'after' }))

  const csv = await Array.fromAsync(usageCsv(admin, { by: ['model', 'day'] }))
  t.equal(csv.join(''), [
    'model,day,requests,estimated_requests,prompt_tokens,completion_tokens,cached_tokens,reasoning_tokens,images,seconds,' +
      'cost_usd,saved_usd,provider_cost_usd,margin_usd',
    `'=big,${today()},1,0,3,5,0,0,0,0,1.00,0.00,,`,
    `small,${today()},2,0,6,10,0,0,0,0,0.000000012,0.00,,`,
    ''
  ].join('\r\n'))
})

forEachEngine(t, 'the cost of providers and the margin cover the requests whose cost is known', async (t, { open }) => {
  const admin = await openAdministration(t, await open())
  await createAccount(admin, { id: 'a' })
  await addDeposit(admin, 'a', { amount_usd: 10 })
  const spend = (amountNano: number, more: Partial<Posting>) => admin.spend({ account: 'a', key: 'k', amountNano, ...more })
  await spend(100, { provider: 'p', costNano: 60, savedNano: 40, tags: { project: '@x' } })
  await spend(10, { provider: 'p', costNano: 15, reportedNano: 99, savedNano: -43 })
  await spend(7, { provider: 'p' })
  await spend(5, {})
  t.match(JSON.parse(JSON.stringify((await listUsage(admin, { by: ['provider'] })).data)), [
    { provider: '', cost_nano: 5, costed_requests: 0, provider_cost_nano: null, margin_nano: null, margin_usd: null },
    {
      provider: 'p',
      cost_nano: 117,
      saved_nano: -3,
      saved_usd: -3e-9,
      costed_requests: 2,
      provider_cost_nano: 75,
      provider_cost_usd: 75e-9,
      margin_nano: 35,
      margin_usd: 35e-9
    }
  ])
  t.match((await listUsage(admin, { by: ['tag:project', 'estimated', 'account'] })).data, [
    { tags: { project: '' }, estimated: false, account: 'a', requests: 3 },
    { tags: { project: '@x' }, estimated: false, account: 'a', requests: 1 }
  ])
  const csv = await Array.fromAsync(usageCsv(admin, { by: ['tag:project'] }))
  t.match(csv.join(''), /^tag:project,requests[^]*\r\n,3,[^]*,0.000000022,-0.000000043,0.000000015,-0.000000005\r\n'@x,1,/)
})

t.test('dimensions are parsed in any order', async t => {
  t.same(toDimensions('day, key'), ['key', 'day'])
  t.same(toDimensions('tag:a-b_1,label,label'), ['label', 'tag:a-b_1'])
  t.same(toDimensions(), ['key', 'model', 'day'])
  const wrong = ['key,color', '', 'tag:', 'tag:1', "tag:a'b", 'tag:a b', 'account,key,label,model,provider,day,week,month,estimated']
  for (const text of wrong) t.throws(() => toDimensions(text), RangeError, text)
})
