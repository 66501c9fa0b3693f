import t from 'tap'
import { Pool } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { nanoFromUsd } from '../../services/shared/money.ts'
import { openStore } from '../../services/store/open.ts'
import { startPostgres } from '../helpers/postgres.ts'
import { addressOf, spawnGateway } from '../helpers/process.ts'

const body = JSON.stringify({
  model: 'sandbox-chat', messages: [{ role: 'user', content: 'What is a gateway?' }], max_tokens: 100
})

/** Sends requests until the money is spent; counts the answers by status. */
async function askUntilRefused (pool: Pool, key: string, statuses: Map<number, number>): Promise<void> {
  for (let status = 200; status === 200 || status === 429;) {
    const answer = await pool.request({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body
    })
    await answer.body.dump()
    status = answer.statusCode
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
}

t.test('four nodes share an account that covers part of the requests of 64 clients', async t => {
  const postgres = await startPostgres(t)
  const DATABASE_URL = await postgres.createSchema()
  const env = { DATABASE_URL, TOLLGATE_STARTING_CREDIT: '0.03' }
  const gateways = await Promise.all([1, 2, 3, 4].map(() => spawnGateway(t, env)))
  const addresses = await Promise.all(gateways.map(addressOf))
  const keys = addresses.map(({ key }) => key).filter(key => key !== '')
  t.equal(keys.length, 1, 'four nodes that start at once create one key')
  const key = keys[0] ?? ''
  const statuses = new Map<number, number>()
  const pools = addresses.map(({ url }) => new Pool(new URL(url).origin, { connections: 16 }))
  const sixteen = Array.from({ length: 16 })
  await Promise.all(pools.flatMap(pool => sixteen.map(() => askUntilRefused(pool, key, statuses))))
  statuses.delete(429)
  t.strictSame([...statuses.keys()].sort(), [200, 402], 'an answer, or no money: nothing else')
  t.equal(statuses.get(402), 64)

  await Promise.all(pools.map(pool => pool.close()))
  for (const { child } of gateways) child.kill('SIGTERM')
  t.strictSame(await Promise.all(gateways.map(({ exited }) => exited)), [0, 0, 0, 0])
  const store = await openStore(DATABASE_URL)
  t.teardown(() => store.close())
  const account = await store.get<{ credits: number, spent: number, held: number }>(
    "select credits, spent, held from account where id = 'default'")
  const entries = await store.get<{ total: number, count: number }>(
    "select sum(amount) as total, count(*) as count from entry where kind = 'usage'")
  t.equal(account?.credits, nanoFromUsd('0.03'))
  t.equal(account?.spent, entries?.total, 'spent is the sum of the entries')
  t.equal(entries?.count, statuses.get(200), 'one entry for each answer')
  t.equal(account?.held, 0)
  const leftNano = (account?.credits ?? 0) - (account?.spent ?? 0)
  t.ok(leftNano >= 0, 'never below zero')
  // Money that is only held is no reason for a 402.
  const holdNano = 60_000
  t.ok(leftNano < holdNano, `${leftNano} nano-USD were left when all clients were refused`)
  t.strictSame(await checkLedger(store), [])
})
