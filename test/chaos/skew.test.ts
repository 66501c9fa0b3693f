import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { createKeys } from '../../services/keys/keys.ts'
import { createAccounts } from '../../services/billing/ledger/accounts.ts'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { createLedger } from '../../services/billing/ledger/create.ts'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'
import { sharedPostgres } from '../helpers/postgres.ts'
import { addressOf, spawnGateway, temporaryFolder } from '../helpers/process.ts'
import { reply, scripts, startUpstream, type Upstream } from '../servers/upstream.ts'

const minuteMs = 60_000
const usd = 1_000_000_000
/** Nodes look for what has died or expired with every heartbeat, every three seconds. */
const twoHeartbeatsMs = 7_000
/** 100 tokens at $1000 per million. */
const askedTokens = 100
const heldNano = 0.1 * usd

interface Nodes { store: Store, urls: string[] }

/** Gateways on one Postgres database whose clocks are wrong by so many minutes. */
async function startNodes (t: Test, minutes: readonly number[], upstreamUrl: string): Promise<Nodes> {
  const DATABASE_URL = await (await sharedPostgres()).createSchema()
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'gateway.yaml'), `
providers:
  - { id: up, base_url: '${upstreamUrl}', api_key: sk-up }
models:
  - { id: dear, provider: up, model: gpt-5-nano, price: { input: 0, output: 1000 } }
`)
  const store = await openStore(DATABASE_URL)
  t.teardown(() => store.close())
  const urls = await Promise.all(minutes.map(async (ahead) => {
    const env = { DATABASE_URL, TEST_CLOCK_AHEAD_MS: String(ahead * minuteMs) }
    const gateway = await spawnGateway(t, env, { folder, preload: join(import.meta.dirname, 'skewed-clock.ts') })
    return (await addressOf(gateway)).url
  }))
  return { store, urls }
}

async function ask (url: string, key: string, tokens = askedTokens): Promise<number> {
  const { statusCode, body } = await request(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'dear', max_tokens: tokens, messages: [{ role: 'user', content: 'Hello' }] })
  })
  await body.dump()
  return statusCode
}

t.test('nodes whose clocks are eleven minutes or a day wrong', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const nodes = await startNodes(t, [0, 11, -11, 26 * 60], upstream.url)
  await t.test('charge every request, to the same budget', async t => {
    await chargeOneBudget(t, nodes, upstream)
  })
  await t.test('get the money that another node has spare', async t => {
    await shareSpareMoney(t, nodes, upstream)
  })
})

async function chargeOneBudget (t: Test, { store, urls }: Nodes, upstream: Upstream): Promise<void> {
  const accounts = createAccounts(store)
  await accounts.create({ id: 'acme' })
  await accounts.deposit({ id: 'd', account: 'acme', amountNano: 10 * usd })
  const budget = { limitNano: usd, period: 'day' } as const
  const { id, key } = await createKeys(store).create({ account: 'acme', label: 'a key', budget })

  const ledger = createLedger({ store })
  t.teardown(() => ledger.close())
  const job = { id: 'job', chain: ['acme'], key: id, amountNano: usd, durable: true }
  await ledger.reserve({ ...job, expiresAt: store.clock() + 10 * minuteMs })

  const opened = Promise.withResolvers<void>()
  upstream.always(scripts.heldUntil(opened.promise, reply({ usage: { prompt: 9, completion: 90 } })))
  const asked = Promise.all(urls.map((url) => ask(url, key)))
  await Promise.all(urls.map(() => upstream.nextRequest()))
  await sleep(twoHeartbeatsMs)
  const held = await store.get<{ held: number }>("select held from account where id = 'acme'")
  t.ok((held?.held ?? 0) >= usd + urls.length * heldNano, 'no node has released what another one holds')
  const jobs = await store.all("select state, amount from hold where kind = 'job'")
  t.same(jobs, [{ state: 0, amount: usd }], 'nor has a hold expired before its time')
  opened.resolve()
  t.same(await asked, urls.map(() => 200))

  const entries = () => store.all<{ kind: string, at: number, amount: number }>(
    "select kind, at, amount from entry where kind <> 'deposit'")
  while ((await entries()).length < urls.length) await sleep(20)
  const booked = await entries()
  t.same(booked.map(({ kind }) => kind), urls.map(() => 'usage'))
  const times = booked.map(({ at }) => at)
  t.ok(Math.max(...times) - Math.min(...times) < minuteMs, 'the entries have the time of the database')
  const spent = await store.all<{ spent: number }>('select spent from account where id like $1 and spent > 0', [`budget:${id}%`])
  t.same(spent, [{ spent: booked.reduce((sum, { amount }) => sum + amount, 0) }])
  t.same(await checkLedger(store), [])
}

async function shareSpareMoney (t: Test, { store, urls: [rich = '', poor = ''] }: Nodes, upstream: Upstream): Promise<void> {
  const accounts = createAccounts(store)
  await accounts.create({ id: 'small' })
  await accounts.deposit({ id: 'e', account: 'small', amountNano: heldNano })
  const { key } = await createKeys(store).create({ account: 'small', label: 'a key' })
  const opened = Promise.withResolvers<void>()
  upstream.script(scripts.heldUntil(opened.promise, reply({ usage: { prompt: 9, completion: 90 } })))
  const small = ask(rich, key, 1)
  await upstream.nextRequest()
  t.equal(await ask(poor, key, askedTokens - 1), 200)
  opened.resolve()
  t.equal(await small, 200)
}
