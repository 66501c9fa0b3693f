import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { StoreUnavailable } from '../../services/store/store.ts'
import { createDatabase, forEachEngine } from '../helpers/engines.ts'
import { entriesOf, made, openShop, post, type Shop } from './image-shop.ts'
import { until } from '../helpers/until.ts'

/** A client: what it asks for, whether its connection breaks once and when, and how it then comes back. */
const clientArbitrary = fc.record({
  prompt: fc.constantFrom('one', 'two'),
  breaks: fc.constantFrom('no', 'running', 'made'),
  counts: fc.boolean(),
  named: fc.boolean()
})

forEachEngine(t, 'as many calls and charges as clients, whichever of them break off and come back', async (t, database) => {
  let gate = Promise.withResolvers<void>()
  const shop = await openShop(t, async () => {
    await gate.promise
    return made()
  }, { database })
  const { app, url, headers } = shop.gateway
  const rows = () => app.store.all<{ id: string }>('select id from waiter')
  let [run, total] = [0, 0]
  const arbitrary = fc.array(clientArbitrary, { minLength: 1, maxLength: 5 })
  await fc.assert(fc.asyncProperty(arbitrary, async clients => {
    gate = Promise.withResolvers()
    const id = run++
    const send = async (index: number, more: Record<string, string> = {}, signal?: AbortSignal) => {
      const { prompt, named } = clients[index]!
      const answer = await request(`${url}/images/generations`, {
        method: 'POST',
        headers: { ...headers, ...named ? { 'idempotency-key': `${id}-${index}` } : {}, ...more },
        body: JSON.stringify({ model: 'picture', prompt: `${id} ${prompt}` }),
        signal
      })
      const { data } = await answer.body.json() as { data: { url: string }[] }
      return new URL(data[0]?.url ?? '').pathname
    }
    const counted = { 'x-stainless-retry-count': '1' }
    const back = (index: number) => send(index, clients[index]!.counts ? counted : {})
    const controllers = clients.map(() => new AbortController())
    const first = clients.map((_client, index) =>
      send(index, {}, controllers[index]?.signal).catch(() => null))
    total += clients.length
    await until(() => shop.server.seen.length === total)
    clients.forEach(({ breaks }, index) => { if (breaks !== 'no') controllers[index]?.abort() })
    const staying = clients.filter(({ breaks }) => breaks === 'no').length
    await until(async () => (await rows()).length === staying)
    const early = clients.map((client, index) => client.breaks === 'running' ? back(index) : null)
    const waiting = clients.filter(({ breaks }) => breaks !== 'made').length
    await until(async () => (await rows()).length === waiting)
    gate.resolve()
    await until(async () => (await entriesOf(shop)).length === total)
    const late = clients.map((client, index) => client.breaks === 'made' ? back(index) : null)
    const paths = await Promise.all(clients.map((_client, index) =>
      early[index] ?? late[index] ?? first[index]))
    t.equal(new Set(paths).size, clients.length, 'each has another image')
    await until(async () => (await rows()).length === 0)
  }), { numRuns: 6, endOnFailure: true })
  t.equal(shop.server.seen.length, total)
  t.equal((await entriesOf(shop)).length, total)
  t.strictSame(await checkLedger(app.store), [])
})

/** The states in which a killed node may leave a generation; `charged`: its charge was on disk. */
const leftBy = {
  'before it had made anything': { change: 'result = null', isKept: false },
  'before its charge was on disk': { change: "result = replace(result, '\"hold_', '\"lost_')", isKept: false },
  'after its charge was on disk': { change: 'result = result', isKept: true }
}

for (const [moment, { change, isKept }] of Object.entries(leftBy)) {
  forEachEngine(t, `a generation whose node was killed ${moment}`, async (t, database) => {
    const shop = await openShop(t, () => made(), { database })
    const { store } = shop.gateway.app
    const first = await post(shop)
    t.equal(first.status, 200)
    await until(async () => (await store.all('select id from waiter')).length === 0)
    const { at } = await store.get<{ at: number }>('select now_ms() as at') ?? { at: 0 }
    // It dies while the retry looks for its generation.
    await store.run("insert into node (id, epoch, heartbeat_at) values ('killed', 1, $1)", [at - 14_000])
    await store.run(`
      update generation set state = 'running', owner = 'killed', delivered = 0, expires_at = null, ${change}`)
    await store.run("insert into waiter (id, work, node) select 'killed 1', id, 'killed' from generation")
    const { url, headers } = shop.gateway
    const answer = await request(`${url}/images/generations`, {
      method: 'POST',
      headers: { ...headers, 'x-stainless-retry-count': '1' },
      body: JSON.stringify({ model: 'picture', prompt: 'A fox' })
    })
    t.equal(answer.statusCode, 200)
    const { data: [image] } = await answer.body.json() as typeof first.body
    const isSame = new URL(image?.url ?? '').pathname === new URL(first.body.data[0]?.url ?? '').pathname
    t.equal(isSame, isKept)
    t.equal(shop.server.seen.length, isKept ? 1 : 2)
    t.equal((await entriesOf(shop)).length, isKept ? 1 : 2)
    await until(async () => (await store.all("select id from generation where state = 'running'")).length === 0)
    const states = isKept ? ['succeeded'] : ['failed', 'succeeded']
    t.strictSame((await store.all<{ state: string }>('select state from generation order by created_at')).map(({ state }) => state), states)
    t.strictSame(await checkLedger(store), [])
  })
}

/** A shop whose account another transaction locks once a provider has answered, and a client in a hurry. */
async function openLockedShop (t: Test, heartbeatAfterMs = 20_000) {
  const database = await createDatabase(t, 'postgres')
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store = await database.open()
  let locking: Promise<unknown> = Promise.resolve()
  const shop = await openShop(t, async () => {
    locking = store.transaction(async queries => {
      await queries.run("update account set spent = spent where id = 'default'")
      locked.resolve()
      await unlocked.promise
    })
    await locked.promise
    return made()
  }, { database, config: config => ({ ...config, video: { ...config.video, heartbeatAfterMs } }) })
  const { url, headers } = shop.gateway
  return {
    shop,
    store,
    async unlock () {
      unlocked.resolve()
      await locking
    },
    async ask (more: Record<string, string>) {
      const { statusCode, body } = await request(`${url}/images/generations`, {
        method: 'POST',
        headers: { ...headers, 'x-tollgate-deadline-ms': '1500', ...more },
        body: JSON.stringify({ model: 'picture', prompt: 'A fox' })
      })
      return { statusCode, body: await body.json() }
    }
  }
}

for (const heartbeatAfterMs of [20_000, 200]) {
  const answer = heartbeatAfterMs < 1_000 ? 'after its 200' : 'by its status'
  t.test(`a client whose deadline ends before the charge, and hears that ${answer}, gets its images by a retry`, async t => {
    const { shop, store, ask, unlock } = await openLockedShop(t, heartbeatAfterMs)
    const statusCode = heartbeatAfterMs < 1_000 ? 200 : 504
    t.match(await ask({ 'x-stainless-retry-count': '0' }), { statusCode, body: { error: { code: 'deadline_exceeded' } } })
    await until(async () => (await store.all('select id from waiter')).length === 0)
    await unlock()
    t.match(await ask({ 'x-stainless-retry-count': '1' }), { statusCode: 200, body: { data: [{ url: String }] } })
    t.equal(shop.server.seen.length, 1)
    t.equal((await entriesOf(shop)).length, 1)
    t.strictSame(await checkLedger(store), [])
  })
}

forEachEngine(t, 'a deadline holds while the database is away, and the images that it ends are not charged', async (t, database) => {
  let isAway = false
  const shop = await openShop(t, () => made(), { database })
  const { store } = shop.gateway.app
  const { run, transaction } = store
  const fails = (): void => { if (isAway) throw new StoreUnavailable(null) }
  Object.assign(store, {
    async run (...args: Parameters<typeof run>) {
      if (args[0].includes('set result')) isAway = true
      fails()
      return await run(...args)
    },
    async transaction (...args: Parameters<typeof transaction>) {
      fails()
      return await transaction(...args)
    }
  })
  const { url, headers } = shop.gateway
  const ask = async () => {
    const { statusCode, body } = await request(`${url}/images/generations`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'one', 'x-tollgate-deadline-ms': '1500' },
      body: JSON.stringify({ model: 'picture', prompt: 'A fox' }),
      signal: AbortSignal.timeout(20_000)
    })
    return { statusCode, body: await body.json() }
  }
  t.match(await ask(), { statusCode: 504, body: { error: { code: 'deadline_exceeded' } } })
  isAway = false
  Object.assign(store, { run, transaction })
  await until(async () => (await store.all("select id from generation where state = 'running'")).length === 0)
  t.match(await ask(), { statusCode: 200, body: { data: [{ url: String }] } })
  t.equal(shop.server.seen.length, 2)
  t.equal((await entriesOf(shop)).length, 1)
  t.match(await store.all("select reason from entry where kind = 'suspense'"), [{ reason: 'unverified' }])
  t.strictSame(await checkLedger(store), [])
})

forEachEngine(t, 'clients at other nodes begin again what a closing node had begun', async (t, database) => {
  const gate = Promise.withResolvers<void>()
  t.teardown(() => gate.resolve())
  const one = await openShop(t, async () => {
    await gate.promise
    return made()
  }, { database })
  const other = await openShop(t, () => made(), { database })
  // Both have the key of the first one.
  const headers = { ...one.gateway.headers, 'idempotency-key': 'mine' }
  const ask = async ({ gateway: { url } }: Shop) => {
    const { statusCode, body } = await request(`${url}/images/generations`, {
      method: 'POST', headers, body: JSON.stringify({ model: 'picture', prompt: 'A fox' })
    })
    return { statusCode, body: await body.json() }
  }
  const first = ask(one)
  await until(() => one.server.seen.length === 1)
  const second = ask(other)
  await until(async () => (await one.gateway.app.store.all('select id from waiter')).length === 2)
  const closed = one.gateway.app.close()
  t.match(await first, { statusCode: 503 })
  t.match(await second, { statusCode: 200, body: { data: [{ url: String }] } })
  await closed
  t.equal(other.server.seen.length, 1)
  t.equal((await entriesOf(other)).length, 1)
  t.strictSame(await checkLedger(other.gateway.app.store), [])
})

t.test('a client may leave while the generation that it joins is looked up', async t => {
  const database = await createDatabase(t, 'postgres')
  const store = await database.open()
  const shop = await openShop(t, () => made(), { database })
  const { url, headers } = shop.gateway
  const ask = async (signal?: AbortSignal) => {
    const { statusCode, body } = await request(`${url}/images/generations`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'mine' },
      body: JSON.stringify({ model: 'picture', prompt: 'A fox' }),
      signal: signal ?? null
    })
    await body.dump()
    return statusCode
  }
  t.equal(await ask(), 200)
  // It runs on another node.
  await store.run("insert into node (id, epoch, heartbeat_at) values ('other', 1, now_ms())")
  await store.run("update generation set state = 'running', owner = 'other', result = null, expires_at = null")
  const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const locking = store.transaction(async queries => {
    await queries.run('update generation set delivered = delivered')
    locked.resolve()
    await unlocked.promise
  })
  await locked.promise
  const client = new AbortController()
  const left = ask(client.signal)
  await until(() => shop.gateway.app.running.size === 1)
  await sleep(100)
  client.abort()
  await t.rejects(left)
  await sleep(100)
  unlocked.resolve()
  await locking
  await until(() => shop.gateway.app.running.size === 0)
  await sleep(100)
  t.equal(shop.server.seen.length, 1)
})

t.test('a request that arrives while the node stops is refused before it costs anything', async t => {
  const shop = await openShop(t, () => made())
  await shop.gateway.app.images.close()
  t.match(await post(shop), { status: 503, body: { error: { message: /shutting down/ } } })
  t.equal(shop.server.seen.length, 0)
})

t.test('images whose charge waits for a locked account are left to the next request', async t => {
  const { shop, store, ask, unlock } = await openLockedShop(t)
  t.match(await ask({ 'idempotency-key': 'one' }), { statusCode: 504, body: { error: { code: 'deadline_exceeded' } } })
  t.match(await store.all('select state from generation'), [{ state: 'running' }])
  await unlock()
  t.match(await ask({ 'idempotency-key': 'one' }), { statusCode: 200, body: { data: [{ url: String }] } })
  t.equal(shop.server.seen.length, 1)
  t.equal((await entriesOf(shop)).length, 1)
  t.match(await store.all('select state from generation'), [{ state: 'succeeded' }])
  t.strictSame(await checkLedger(store), [])
})
