import t from 'tap'
import { runAt } from '../../cli/helper.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { buildGateway } from '../../helpers/gateway.ts'
import { adminKey, asker } from './helper.ts'

forEachEngine(t, 'statements and balances, over HTTP and in the CLI', async (t, { url, engine }) => {
  const { app } = await buildGateway(t, { env: { DATABASE_URL: url, TOLLGATE_ADMIN_KEY: adminKey, TOLLGATE_STARTING_CREDIT: '0' } })
  const ask = asker(app)
  const at = (time: string) => Date.parse(time)
  await app.accounts.create({ id: 'team', parent: 'default' })
  // Accounts of today have statements of the months since they were created.
  await app.store.run('update account set created_at = 0')
  await app.accounts.deposit({ id: 'd1', account: 'default', amountNano: 10_000_000_000, at: at('2026-09-10') })
  await app.accounts.deposit({ id: 'd2', account: 'team', amountNano: 2_500_000_001, at: at('2026-10-10') })
  const statements = async (query: string) => (await ask('GET', `/statements?${query}`)).body.data

  t.match(await statements('month=2026-10'), [
    {
      object: 'statement',
      account: 'default',
      month: '2026-10',
      opening_usd: 10,
      closing_nano: 12_500_000_001,
      movements: { deposits: { amount_nano: 2_500_000_001 }, usage: { amount_nano: 0 } }
    },
    { account: 'team', opening_nano: 0, closing_nano: 2_500_000_001 }
  ])
  await app.accounts.deposit({ id: 'late', account: 'team', amountNano: 1, at: at('2026-10-11') })
  t.match(await statements('month=2026-10&account=team'), [
    { opening_nano: 0, movements: { deposits: { amount_nano: 2_500_000_002 } }, closing_nano: 2_500_000_002 }
  ], 'an entry counts in its month, whenever it is booked')
  t.match((await ask('GET', '/entries?account=default')).body.data, [
    { id: 'late', month: '2026-10', at: '2026-10-11T00:00:00.000Z' }, { id: 'd2', month: '2026-10' }, { id: 'd1', month: '2026-09' }
  ], 'entries of an account include those below')

  const balance = async (query: string) => (await ask('GET', `/accounts/default/balance${query}`)).body
  t.match(await balance('?at=2026-10-01'), { object: 'balance', at: '2026-10-01T00:00:00.000Z', balance_usd: 10 })
  t.match(await balance(''), { balance_nano: 12_500_000_002 })
  t.match(await ask('GET', '/accounts/nobody/balance'), { status: 404 })
  t.match(await ask('GET', '/statements?month=2026-10&account=nobody'), { status: 404 })
  t.match(await ask('GET', '/statements'), { status: 400, body: { error: { param: 'month' } } })
  t.match(await ask('GET', '/statements?month=October'), { status: 400, body: { error: { param: 'month' } } })
  t.match(await ask('GET', '/statements?month=2026-10&format=csv&limit=1'), { status: 400, body: { error: { param: 'limit' } } })

  const csv = await ask('GET', '/statements?month=2026-10&format=csv')
  t.match(csv.headers, { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': 'attachment; filename="statements-2026-10.csv"' })
  const lines = 'account,month,opening_usd,deposits_usd,withdrawals_usd,transfers_in_usd,transfers_out_usd,adjustments_usd,' +
    'usage_usd,refunds_usd,closing_usd\r\n' +
    'default,2026-10,10.00,2.500000002,0.00,0.00,0.00,0.00,0.00,0.00,12.500000002\r\n' +
    'team,2026-10,0.00,2.500000002,0.00,0.00,0.00,0.00,0.00,0.00,2.500000002\r\n'
  t.equal(csv.text, lines)
  const entries = await ask('GET', '/entries', undefined, { accept: 'text/csv' })
  t.match(entries.text, /^id,at,month,kind,debit,credit,amount_usd,change_usd,key,.*\r\nlate,2026-10-11T00:00:00.000Z,2026-10,deposit,funding,team,0.000000001,/)
  t.equal(entries.text.split('\r\n').length, 5)

  if (engine === 'sqlite') return
  t.equal((await runAt(url, ['books', 'statements', '2026-10', '--csv'])).out, lines)
  t.match(JSON.parse((await runAt(url, ['books', 'statements', '2026-10', '--json'])).out), { data: [{ account: 'default' }, {}] })
  t.equal((await runAt(url, ['ledger', 'entries', '--csv'])).out, entries.text)
  t.equal((await runAt(url, ['books', 'balance', 'team', '--at', '2026-10-15'])).out, '2.500000002\n')
})
