import t from 'tap'
import { Pool } from 'undici'
import { startGateway } from '../helpers/gateway.ts'
import { startPostgres } from '../helpers/postgres.ts'
import { addressOf, spawnGateway } from '../helpers/process.ts'

t.test('without its database a node answers 503 with retry-after, never 401, and recovers without a restart', async t => {
  const postgres = await startPostgres(t)
  const gateway = await spawnGateway(t, { DATABASE_URL: await postgres.createSchema() })
  const { url, key } = await addressOf(gateway)
  const pool = new Pool(new URL(url).origin)
  t.teardown(() => pool.close())
  const ask = async (path: string, secret = key) => {
    const answer = await pool.request({ method: 'GET', path, headers: { authorization: `Bearer ${secret}` } })
    await answer.body.dump()
    return { status: answer.statusCode, retryAfter: answer.headers['retry-after'] }
  }
  t.equal((await ask('/v1/dashboard/billing')).status, 200)
  await postgres.kill()
  const away = await ask('/v1/dashboard/billing')
  t.equal(away.status, 503)
  t.ok(Number(away.retryAfter) >= 1)
  const stranger = await ask('/v1/models', `${key.slice(0, 10)}0000000000-${'0'.repeat(48)}`)
  t.equal(stranger.status, 503, 'a key that cannot be looked up is not called wrong')
  await postgres.start()
  t.equal((await ask('/v1/dashboard/billing')).status, 200)
})

t.test('a node stays ready during a short outage of its database', async t => {
  const postgres = await startPostgres(t)
  const DATABASE_URL = await postgres.createSchema()
  const { app } = await startGateway(t, { env: { DATABASE_URL, TOLLGATE_STORE_GRACE_SECONDS: '8' } })
  const readiness = async () => {
    const answer = await app.inject('/readyz')
    return [answer.statusCode, answer.json().database]
  }
  const until = async (database: string) => {
    while ((await readiness())[1] !== database) await new Promise(resolve => setTimeout(resolve, 50))
    return await readiness()
  }
  await postgres.kill()
  t.same(await until('away'), [200, 'away'])
  t.same(await until('gone'), [503, 'gone'])
  t.equal((await app.inject('/healthz')).statusCode, 200, 'a restart would not help')
  await postgres.start()
  t.same(await until('ok'), [200, 'ok'])
})
