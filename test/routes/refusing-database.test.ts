import t from 'tap'
import { request } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { forEachEngine } from '../helpers/engines.ts'
import { startGateway } from '../helpers/gateway.ts'
import { until } from '../helpers/until.ts'

const ask = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'hello' }] }

forEachEngine(t, 'while nothing can be booked, a node is not ready, and afterwards all is booked', async (t, database) => {
  const env = { DATABASE_URL: database.url, TOLLGATE_STORE_GRACE_SECONDS: '1' }
  const { app, url, headers } = await startGateway(t, { env })
  const complete = async () => {
    const answer = await request(`${url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(ask) })
    await answer.body.dump()
    return answer.statusCode
  }
  const booked = async () => (await operator.get<{ count: number }>(`
    select count(*) as count from entry where kind = 'usage' and amount > 0`))?.count
  const operator = await database.open()
  t.equal(await complete(), 200)
  await until(async () => await booked() === 1)

  await operator.run('alter table entry rename to elsewhere')
  const statuses = await Promise.all(Array.from({ length: 10 }, complete))
  const served = statuses.filter(status => status === 200).length
  t.ok(served > 0, `${served} served from memory`)
  await until(async () => (await app.inject('/readyz')).statusCode === 503)
  t.match((await app.inject('/readyz')).json(), { status: 'not_ready', database: 'gone' })
  t.equal(app.ledger.unflushedCount, served)

  await operator.run('alter table elsewhere rename to entry')
  await until(async () => (await app.inject('/readyz')).statusCode === 200)
  await until(() => app.ledger.unflushedCount === 0)
  t.equal(await booked(), 1 + served)
  t.equal(app.ledger.lostCount + app.ledger.suspendedCount, 0)
  t.same(await checkLedger(app.store), [])
})
