import t, { type Test } from 'tap'
import { openStore } from '../../../services/store/open.ts'
import { reply, reset, scripts, stall } from '../../servers/upstream.ts'
import { ask, askPastDeadline, booksOf, compatible, counted, openShop, readWords, type Shop } from '../delivery-shop.ts'
import { billing, openShop as openImageShop, perImage, post, untilAllHaveLeft } from '../image-shop.ts'
import { picture } from '../../servers/image-server.ts'
import { until } from '../../helpers/until.ts'

// What the operator reads of requests that went on without their client: what they were charged.

const plain = {
  ...compatible('an OpenAI-compatible provider', content => ({ content })),
  provider: { onDisconnect: 'finish' as const }
}
const exact = { prompt: counted.prompt, completion: 30 + counted.beyondWords }

interface Row {
  request: string
  status: number
  outcome: number
  cost_nano: number
  completion_tokens: number
}

const selectRows = 'select request, status, outcome, cost_nano, completion_tokens from request_log order by seq'

/** Checks that the log line and the row of a request have the amount of its only entry. */
async function checkLogged (t: Test, { gateway }: Pick<Shop, 'gateway'>, id: string, expected: object): Promise<void> {
  const line = await gateway.line(({ msg, reqId }) => msg === 'request' && reqId === id)
  await gateway.app.ledger.flush()
  await gateway.app.flushRequestLog()
  const entries = "select amount from entry where ref = $1 and kind = 'usage'"
  const { amount = 0 } = await gateway.app.store.get<{ amount: number }>(entries, [id]) ?? {}
  t.ok(amount > 0)
  t.match(line, { costUsd: amount / 1e9 })
  const rows = await gateway.app.store.all<Row>(selectRows)
  t.match(rows.filter(({ request }) => request === id), [{ cost_nano: amount, ...expected }])
  t.equal(gateway.lines.filter(({ msg, reqId }) => msg === 'request' && reqId === id).length, 1, 'one line')
}

async function askAndLeave (shop: Shop, id: string): Promise<void> {
  const leaving = new AbortController()
  const answer = ask(shop, {}, { signal: leaving.signal, headers: { 'x-request-id': id } })
  await shop.upstream.nextRequest()
  leaving.abort()
  await answer.catch(() => {})
}

/** Waits until a call goes on without its client; what has ended is logged by then. */
async function untilAbandoned ({ gateway: { app } }: Pick<Shop, 'gateway'>): Promise<void> {
  await until(async () => /^tollgate_abandoned_calls 1$/m.test(await app.metrics.text()))
}

t.test('a whole answer whose client has left is logged with its cost, when it is known', async t => {
  const shop = await openShop(t, plain)
  const { promise, resolve } = Promise.withResolvers<void>()
  shop.upstream.script(scripts.heldUntil(promise, plain.whole({ words: 30, counts: true })))
  await askAndLeave(shop, 'left')
  await untilAbandoned(shop)
  t.notOk(shop.gateway.lines.some(({ msg, reqId }) => msg === 'request' && reqId === 'left'))
  resolve()
  await checkLogged(t, shop, 'left', { outcome: 1, completion_tokens: exact.completion })
  const metrics = await shop.gateway.app.metrics.text()
  const labels = 'route="/v1/chat/completions",model="chat",provider="up"'
  t.match(metrics, `tollgate_requests_total{${labels},status="client_gone"} 1`)
  t.match(metrics, `tollgate_cost_usd_total{${labels}} ${(exact.prompt * 1000 + exact.completion * 4000) / 1e9}`)
})

t.test('so is one whose deadline has passed, counted or estimated', async t => {
  const shop = await openShop(t, plain)
  for (const counts of [true, false]) {
    const { promise, resolve } = Promise.withResolvers<void>()
    shop.upstream.script(scripts.heldUntil(promise, plain.whole({ words: 30, counts })))
    const { id, statusCode } = await askPastDeadline(shop, {})
    t.equal(statusCode, 504)
    await untilAbandoned(shop)
    resolve()
    await checkLogged(t, shop, id, { outcome: 2, status: 504 })
  }
})

t.test('so is a stream that is left or breaks off, although its cost is an estimate', async t => {
  const shop = await openShop(t, plain)
  for (const [id, end] of [['stalls', stall], ['breaks', reset]] as const) {
    shop.upstream.script(plain.stream({ words: 30, end, counts: false }))
    const leaving = new AbortController()
    const answer = await ask(shop, { stream: true }, { signal: leaving.signal, headers: { 'x-request-id': id } })
    const rest = await readWords(answer.body, 30)
    if (id === 'stalls') leaving.abort()
    await rest().catch(() => {})
    await checkLogged(t, shop, id, { outcome: id === 'stalls' ? 1 : 3, status: 200 })
  }
})

t.test('a call that a closing gateway awaits is logged before it ends', async t => {
  const shop = await openShop(t, plain)
  const { promise, resolve } = Promise.withResolvers<void>()
  shop.upstream.script(scripts.heldUntil(promise, reply({ usage: { prompt: 10, completion: 10 } })))
  await askAndLeave(shop, 'closing')
  await untilAbandoned(shop)
  const closed = shop.gateway.app.close()
  setTimeout(resolve, 100)
  await closed
  const { entries: [entry] } = await booksOf(shop, 1)
  t.equal(entry?.amount, 50_000)
  t.match(shop.gateway.lines.find(({ msg, reqId }) => msg === 'request' && reqId === 'closing'), { costUsd: 0.00005 })
  const store = await openStore(shop.database)
  t.match(await store.all<Row>(selectRows), [{ request: 'closing', cost_nano: 50_000 }])
  await store.close()
})

t.test('so are images whose client has left', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const b64 = (await picture(8, 8)).toString('base64')
  const shop = await openImageShop(t, async () => {
    await promise
    return { json: { data: [{ b64_json: b64 }] } }
  }, { model: perImage })
  const leaving = new AbortController()
  const answer = post(shop, {}, leaving.signal)
  await shop.server.next()
  leaving.abort()
  await answer.catch(() => {})
  await untilAllHaveLeft(shop)
  resolve()
  const { reqId } = await shop.gateway.line(({ msg }) => msg === 'the client of images had disconnected')
  await checkLogged(t, shop, String(reqId), { outcome: 1, cost_nano: 10_000_000 })
})

t.test('so are images whose client leaves before they are begun', async t => {
  const b64 = (await picture(8, 8)).toString('base64')
  const reply = { json: { data: [{ b64_json: b64 }] } }
  const shop = await openImageShop(t, async () => reply, { model: perImage })
  const { app } = shop.gateway
  // The key is known then, and needs no write.
  await billing(shop)
  const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const writing = app.store.transaction(async () => {
    locked.resolve()
    await free.promise
  })
  await locked.promise
  const leaving = new AbortController()
  const answer = post(shop, {}, leaving.signal)
  await until(() => app.running.size > 0)
  leaving.abort()
  await answer.catch(() => {})
  await untilAllHaveLeft(shop)
  free.resolve()
  await writing
  const { reqId } = await shop.gateway.line(({ msg }) => msg === 'the client of images had disconnected')
  await checkLogged(t, shop, String(reqId), { outcome: 1, cost_nano: 10_000_000 })
})
