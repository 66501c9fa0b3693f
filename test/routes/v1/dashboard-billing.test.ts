import t from 'tap'
import { buildGateway } from '../../helper.ts'

t.test('the balance is what the store says', async t => {
  const { app, headers } = await buildGateway(t, { env: { TOLLGATE_STARTING_CREDIT: '12.000000003' } })
  const before = await app.inject({ url: '/v1/dashboard/billing', headers })
  t.match(before.json(), { balance: 12.000000003, currency: 'usd', total_spent: 0 })
  await app.accounts.deposit({ id: 'more', account: 'default', amountNano: 1 })
  const after = await app.inject({ url: '/v1/dashboard/billing', headers })
  t.match(after.json(), { balance: 12.000000004 })
})
