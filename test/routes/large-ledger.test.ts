import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { seedBooks } from '../../bench/seed-books.ts'
import { quantileOf } from '../../bench/statistics.ts'
import { createDatabase } from '../helpers/engines.ts'
import { buildGateway } from '../helpers/gateway.ts'
import { adminKey } from './admin/helper.ts'

const seed = 1
const entries = 20_000
const quietRequests = 200

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`reports on ${entries} entries do not hold up the requests of others (${engine})`, async t => {
    const { url, open } = await createDatabase(t, engine)
    t.comment(`seed ${seed}`)
    await seedBooks(await open(), { entries, accounts: 20, seed })
    const { app, headers } = await buildGateway(t, {
      env: { DATABASE_URL: url, TOLLGATE_ADMIN_KEY: adminKey, TOLLGATE_BILLING_RPM: '100000' }
    })
    await app.accounts.create({ id: 'chat' })
    await app.accounts.deposit({ id: 'chat', account: 'chat', amountNano: 1e12 })
    const { key: chatKey } = await app.keys.create({ account: 'chat', label: '' })
    const { key: ownerKey } = await app.keys.create({ account: 'team-0', label: '' })

    async function chat (): Promise<number> {
      const startedMs = performance.now()
      const answer = await app.inject({
        method: 'POST',
        url: '/v1/chat/completions',
        headers: { ...headers, authorization: `Bearer ${chatKey}` },
        payload: { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }
      })
      if (answer.statusCode !== 200) throw new Error(answer.body)
      return performance.now() - startedMs
    }

    async function report (method: 'GET' | 'POST', url: string, key = adminKey): Promise<void> {
      const answer = await app.inject({ method, url, headers: { authorization: `Bearer ${key}` } })
      t.equal(answer.statusCode, 200, url)
    }

    const quietMs: number[] = []
    for (let index = 0; index < quietRequests; index++) quietMs.push(await chat())

    const besideMs: number[] = []
    const reports = Promise.all([
      report('POST', '/admin/ledger/check'),
      report('GET', '/admin/usage?by=key,model'),
      report('GET', '/admin/entries?account=nobody'),
      report('GET', '/v1/dashboard/billing/usage', ownerKey),
      report('GET', '/v1/dashboard/billing/usage', chatKey)
    ])
    while (await Promise.race([reports, sleep(2, null)]) === null) besideMs.push(await chat())

    const [quiet, beside] = [quietMs, besideMs].map(times => quantileOf(times, 0.9))
    t.ok(besideMs.length > 20, `${besideMs.length} requests were answered meanwhile`)
    t.ok((beside ?? NaN) < (quiet ?? NaN) * 3 + 30, `9 of 10 took up to ${quiet} ms before, ${beside} ms beside reports`)
  })
}
