import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import { createKeys } from '../../services/keys/keys.ts'
import { createAccounts } from '../../services/billing/ledger/accounts.ts'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { nanoFromUsd } from '../../services/shared/money.ts'
import { openStore } from '../../services/store/open.ts'
import { startPostgres } from '../helpers/postgres.ts'
import { addressOf, spawnGateway } from '../helpers/process.ts'

/** The last holds more than a node keeps spare of an account, so that the database has to grant it. */
const requests = [{ max_tokens: 100 }, { max_tokens: 100 }, { max_tokens: 4096, n: 40 }]
const freezes = 30
const lockedMs = 10_000
const maxDelayMs = 1_000
const warmUpAnswers = 100

interface Client { account: string, answers: Answers[], ended: Promise<unknown> }

interface Answers { statuses: Map<string, number>, longestMs: number }

/** Two gateways on one Postgres, and accounts whose keys ask both until the test says so. */
async function openTest (t: Test) {
  const postgres = await startPostgres(t)
  const DATABASE_URL = await postgres.createSchema()
  const gateways = await Promise.all([1, 2].map(() => spawnGateway(t, { DATABASE_URL })))
  const addresses = await Promise.all(gateways.map(addressOf))
  const pools = addresses.map(({ url }) => new Pool(new URL(url).origin, { connections: 16 }))
  const store = await openStore(DATABASE_URL)
  t.teardown(() => store.close())
  const [accounts, keys] = [createAccounts(store), createKeys(store)]
  const ending = new AbortController()

  async function ask (pool: Pool, secret: string, answers: Answers): Promise<void> {
    for (let index = 0; !ending.signal.aborted; index++) {
      const startedMs = performance.now()
      const answer = await pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'sandbox-chat',
          messages: [{ role: 'user', content: 'What is a gateway?' }],
          ...requests[index % requests.length]
        })
      })
      const body = await answer.body.json() as { error?: { code: string } }
      const status = `${answer.statusCode} ${body.error?.code ?? ''}`.trim()
      answers.statuses.set(status, (answers.statuses.get(status) ?? 0) + 1)
      answers.longestMs = Math.max(answers.longestMs, performance.now() - startedMs)
      await sleep(10)
    }
  }

  return {
    store,
    url: DATABASE_URL,
    gateways,
    /** Starts two clients of a new account at each of some nodes; counts the answers of each node. */
    async start (account: string, nodes = pools.length) {
      await accounts.create({ id: account })
      await accounts.deposit({ id: account, account, amountNano: nanoFromUsd('1000') })
      const { key } = await keys.create({ account, label: account })
      const answers = Array.from({ length: nodes }, (): Answers => ({ statuses: new Map(), longestMs: 0 }))
      const clients = answers.flatMap((ofNode, node) =>
        pools.slice(node, node + 1).flatMap(pool => [1, 2].map(() => ask(pool, key, ofNode))))
      return { account, answers, ended: Promise.all(clients) }
    },
    /** Ends the clients, stops the gateways, and checks the books. */
    async end (t: Test, clients: readonly Client[]) {
      ending.abort()
      await Promise.all(clients.map(({ ended }) => ended))
      await Promise.all(pools.map(pool => pool.close()))
      for (const { child } of gateways) child.kill('SIGTERM')
      t.strictSame(await Promise.all(gateways.map(({ exited }) => exited)), [0, 0])
      t.strictSame(await checkLedger(store), [])
      for (const { account, answers } of clients) {
        const answered = answers.reduce((sum, { statuses }) => sum + (statuses.get('200') ?? 0), 0)
        const booked = await store.get(`
          select count(*) as count, max(account.held) as held from entry join account on account.id = debit
          where entry.kind = 'usage' and debit = $1`, [account])
        t.strictSame(booked, { count: answered, held: 0 }, `${account}: one entry for each answer`)
      }
    }
  }
}

t.test('a node that is frozen again and again delays nobody at the other one', async t => {
  const { gateways, start, end } = await openTest(t)
  const all = [await start('shared'), await start('other', 1)]
  await warmUp(all)
  const [, { child } = {}] = gateways
  for (let freeze = 0; freeze < freezes; freeze++) {
    await sleep(Math.random() * 100)
    child?.kill('SIGSTOP')
    await sleep(500)
    child?.kill('SIGCONT')
  }
  await end(t, all)
  for (const { account, answers: [atOther] } of all) {
    t.strictSame([...atOther?.statuses.keys() ?? []], ['200'])
    t.ok(Number(atOther?.longestMs) < maxDelayMs, `${account}: the slowest answer after ${atOther?.longestMs} ms`)
  }
})

t.test('a locked account delays no other account at any node', async t => {
  const { url, start, end } = await openTest(t)
  const [victim, other] = [await start('victim'), await start('other')]
  await warmUp([victim, other])
  const client = new pg.Client(url)
  await client.connect()
  await client.query('begin')
  await client.query("select * from account where id = 'victim' for update")
  await sleep(lockedMs)
  await client.query('commit')
  await client.end()
  await sleep(1_000)
  await end(t, [victim, other])
  for (const { statuses, longestMs } of other.answers) {
    t.strictSame([...statuses.keys()], ['200'])
    t.ok(longestMs < maxDelayMs, `the slowest of ${statuses.get('200')} after ${longestMs} ms`)
  }
  for (const { statuses, longestMs } of victim.answers) {
    t.strictSame([...statuses.keys()].sort(), ['200', '503 account_locked'])
    t.ok(longestMs < 4_000, `the slowest of the locked account after ${longestMs} ms`)
  }
})

/** The first answers of a process take longer. */
async function warmUp (clients: readonly Client[]): Promise<void> {
  const all = clients.flatMap(({ answers }) => answers)
  while (all.some(({ statuses }) => (statuses.get('200') ?? 0) < warmUpAnswers)) await sleep(50)
  for (const answers of all) answers.longestMs = 0
}
