import type OpenAI from 'openai'
import t, { type Test } from 'tap'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import type { Hold } from '../../../services/billing/ledger/ledger.ts'
import { createDatabase, forEachEngine, type Database } from '../../helpers/engines.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { made, openShop, post } from '../image-shop.ts'
import { reply, scripts, startUpstream } from '../../servers/upstream.ts'
import { clientNames, clients, errorClasses } from '../clients.ts'
import { until } from '../../helpers/until.ts'

/** $1 and $10 per million tokens. */
const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 10_000_000 }
const messages = [{ role: 'user' as const, content: 'Hello' }]
/** What costs $0.00006. */
const usage = { prompt: 10, completion: 5 }

/** Gateways on one database, with $1 on the account of the first one's key. */
async function openNodes (t: Test, { url }: Database, nodes = 1) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const config = configFor(providerAt(upstream.url, { maxConnections: 100 }), { price, maxOutput: 16_384 })
  const gateways: Gateway[] = []
  for (let node = 0; node < nodes; node++) {
    gateways.push(await startGateway(t, { config, env: { TOLLGATE_STARTING_CREDIT: '1', DATABASE_URL: url } }))
  }
  return { upstream, gateways, gateway: gateways[0] as Gateway, key: gateways[0]?.key ?? '' }
}

/** A client that shows the status of every response, also of those that it tries again. */
function watched (make: typeof clients['openai 7'], gateway: Pick<Gateway, 'url' | 'key'>, maxRetries: number) {
  const statuses: number[] = []
  const client = make(gateway, {
    maxRetries,
    fetch: async (...given: Parameters<typeof fetch>) => {
      const response = await fetch(...given)
      statuses.push(response.status)
      return response
    }
  })
  return { client, statuses }
}

const posting = { ref: 'other', model: 'chat', usage: {}, estimated: false }

/** Holds an amount of the account of the gateway's key, as a request under way does. */
async function hold ({ app, key }: Gateway, amountNano: number): Promise<Hold> {
  const id = key.split('-')[2] ?? ''
  return await app.ledger.reserve({ id: `other-${Math.random()}`, chain: ['default'], key: id, amountNano })
}

/** Waits until this many requests wait for held money. */
async function waiting ({ app }: Gateway, count: number): Promise<void> {
  await until(() => app.ledger.waitingCount === count)
}

const balanceOf = async ({ app }: Gateway) => await app.ledger.balance('default')

for (const [nodes, engine] of [[1, 'sqlite'], [1, 'postgres'], [2, 'postgres']] as const) {
  const where = `${nodes} nodes on ${engine}`
  t.test(`40 requests without a limit at once from one dollar are all answered: ${where}`, async t => {
    const database = await createDatabase(t, engine)
    const { gateways, gateway, key, upstream } = await openNodes(t, database, nodes)
    const all = Promise.withResolvers<void>()
    upstream.always(scripts.heldUntil(all.promise, reply({ usage })))
    const asked = Promise.all(Array.from({ length: 40 }, async (_, index) => {
      const { url = '' } = gateways[index % nodes] ?? {}
      const { client, statuses } = watched(clients['openai 7'], { url, key }, 2)
      const { response } = await client.chat.completions.create({ model: 'chat', messages }).withResponse()
      return { statuses, limit: Number(response.headers.get('x-tollgate-max-tokens')) }
    }))
    // All have their limits before it is learned how short the responses are.
    const waiting = () => gateways.reduce((sum, { app }) => sum + app.ledger.waitingCount, 0)
    await Promise.race([asked, until(() => upstream.requests.length + waiting() >= 40)])
    all.resolve()
    const answers = await asked
    const statuses = answers.flatMap(({ statuses }) => statuses)
    t.notOk(statuses.includes(402))
    if (nodes === 1) t.ok(statuses.every(status => status === 200), 'none had to be sent again')
    t.ok(answers.every(({ limit }) => limit >= 4000), `the least limit is ${Math.min(...answers.map(({ limit }) => limit))}`)
    for (const { app } of gateways) await app.ledger.flush()
    t.match(await balanceOf(gateway), { spentNano: 40 * 60_000, heldNano: 0 })
  })
}

for (const [index, name] of clientNames.entries()) {
  t.test(`a 429 for held money is tried again and ends well, a 402 is not: ${name}`, async t => {
    const { gateway, upstream } = await openNodes(t, await createDatabase(t, index === 0 ? 'postgres' : 'sqlite'))
    upstream.always(reply({ usage }))
    const ask = async (client: OpenAI) => await client.chat.completions.create({ model: 'chat', messages, max_tokens: 5000 })
    const other = await hold(gateway, 980_000_000)
    const patient = watched(clients[name], gateway, 2)
    const asked = ask(patient.client)
    const refused = await ask(watched(clients[name], gateway, 0).client).catch((error: unknown) => error)
    t.type(refused, errorClasses[name].RateLimitError)
    t.match(refused, { status: 429, type: 'rate_limit_exceeded', code: 'insufficient_funds_held' })
    await other.settle({ ...posting, amountNano: 900_000_000 })
    await asked
    t.match(patient.statuses.slice(0, -1).every(status => status === 429), true)
    t.equal(patient.statuses.at(-1), 200)

    const spent = await hold(gateway, 90_000_000)
    await spent.settle({ ...posting, amountNano: 90_000_000 })
    const poor = watched(clients[name], gateway, 2)
    const error = await ask(poor.client).catch((error: unknown) => error)
    t.match(error, { status: 402, code: 'insufficient_quota' })
    t.same(poor.statuses, [402], 'sent once')
    t.match(await balanceOf(gateway), { heldNano: 0, spentNano: 990_060_000 })
  })
}

t.test('a limit set by the gateway is visible, on whole answers and streams; one of the client is not', async t => {
  const { gateway, upstream } = await openNodes(t, await createDatabase(t, 'sqlite'))
  const limitOf = async (more: object) => {
    const answer = await fetch(`${gateway.url}/chat/completions`, {
      method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', messages, ...more })
    })
    const text = await answer.text()
    const sent = upstream.requests.at(-1)?.body
    return { header: answer.headers.get('x-tollgate-max-tokens'), sent: sent?.max_tokens ?? sent?.max_completion_tokens, text }
  }
  upstream.always(reply({ usage: { prompt: 10, completion: 4096 }, finishReason: 'length' }))
  for (const stream of [false, true]) {
    const { header, sent, text } = await limitOf({ stream })
    t.equal(header, String(sent))
    t.ok(Number(sent) > 4096 && Number(sent) < 16_384)
    t.match(text, /"finish_reason":\s*"length"/, 'as the provider gave it')
    t.match(await limitOf({ stream, max_tokens: 100 }), { header: null, sent: 100 })
  }
})

forEachEngine(t, 'a 402 shows a key its own money alone', async (t, database) => {
  const { gateway } = await openNodes(t, database)
  const { url, app: { accounts, keys } } = gateway
  await accounts.create({ id: 'child', parent: 'default' })
  await accounts.deposit({ id: 'd', account: 'child', amountNano: 700_000_000_000 })
  const spent = await hold(gateway, 700_000_000_000)
  await spent.settle({ ...posting, amountNano: 700_000_000_000 })
  await accounts.create({ id: 'poor', parent: 'child' })
  await accounts.deposit({ id: 'p', account: 'poor', amountNano: 20_000_000 })
  const budget = { limitNano: 30_000_000, period: 'month' as const }
  const refusalFor = async (account: string, more = {}) => {
    const { key } = await keys.create({ account, label: '', ...more })
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', messages, max_tokens: 16_000, n: 10 })
    })
    t.equal(answer.status, 402)
    t.equal(answer.headers.get('x-should-retry'), 'false')
    return (await answer.json() as { error: { message: string } }).error.message
  }
  const asked = /may cost up to \$1\.60\d+; /
  const parent = await refusalFor('child')
  t.match(parent, asked)
  t.match(parent, /an account above yours does not have that much left\.$/, 'no figure of the parent, nor of another')
  t.match(await refusalFor('poor'), /your balance is \$0\.02, of which \$0\.00 is held/)
  t.match(await refusalFor('default'), /your balance is \$1\.02, of which/)
  t.match(await refusalFor('child', { budget }), /above yours/)
  await accounts.deposit({ id: 'e', account: 'default', amountNano: 700_000_000_000 })
  t.match(await refusalFor('child', { budget }), /the budget of your API key has \$0\.03 left, of which/)
})

forEachEngine(t, 'a client that leaves and a gateway that stops end the wait for money', async (t, database) => {
  const { gateway, upstream } = await openNodes(t, database)
  await hold(gateway, 990_000_000)
  const { client } = watched(clients['openai 7'], gateway, 0)
  const leaving = new AbortController()
  const body = { model: 'chat', messages, max_tokens: 5000 }
  const { signal } = leaving
  const left = client.chat.completions.create(body, { signal }).catch((error: unknown) => error)
  await waiting(gateway, 1)
  leaving.abort()
  await waiting(gateway, 0)
  await left
  const stopped = client.chat.completions.create(body).catch((error: unknown) => error)
  await waiting(gateway, 1)
  const closed = gateway.app.close()
  t.match(await stopped, { status: 503, code: 'shutting_down' })
  await closed
  t.equal(upstream.requests.length, 0)
})

forEachEngine(t, 'images wait for held money as well', async (t, database) => {
  const shop = await openShop(t, () => made(), { database })
  const all = await hold(shop.gateway, 1_000_000_000)
  const answer = post(shop)
  await waiting(shop.gateway, 1)
  all.release()
  t.equal((await answer).status, 200)
  const most = await hold(shop.gateway, 985_000_000)
  const headers = { 'retry-after': /^[12]$/ }
  t.match(await post(shop), { status: 429, headers, body: { error: { code: 'insufficient_funds_held' } } })
  await most.release()
})

forEachEngine(t, 'videos wait for held money as well', async (t, { url }) => {
  const gateway = await startGateway(t, { env: { TOLLGATE_STARTING_CREDIT: '1', DATABASE_URL: url } })
  const asked = [{ role: 'user', content: 'a red ball\nsandbox:delay 100' }]
  const video = { model: 'sandbox-video', messages: asked, video: { seconds: 2, size: '320x180' } }
  const all = await hold(gateway, 1_000_000_000)
  const asking = fetch(`${gateway.url}/chat/completions`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify(video)
  })
  await waiting(gateway, 1)
  all.release()
  const answer = await asking
  t.equal(answer.status, 200)
  t.match(await answer.json(), { choices: [{ message: { content: /^http/ } }] })
  await gateway.app.ledger.flush()
  t.match(await gateway.app.store.all("select amount from entry where kind = 'usage'"), [{ amount: Number }])
})
