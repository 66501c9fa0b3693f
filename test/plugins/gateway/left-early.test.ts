import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { reply, startUpstream } from '../../servers/upstream.ts'

const adminKey = 'operator-key-of-this-test'

/** What waits, when it is called, until the test lets it go on. */
function hold<Args extends unknown[], Result> (work: (...args: Args) => Result | Promise<Result>) {
  const called = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const waits = async (...args: Args): Promise<Result> => {
    called.resolve()
    await released.promise
    return await work(...args)
  }
  return { waits, called: called.promise, release: released.resolve }
}

async function startWithProvider (t: Test) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.always(reply())
  const config = configFor(providerAt(upstream.url))
  return { upstream, ...await startGateway(t, { config, env: { TOLLGATE_ADMIN_KEY: adminKey } }) }
}

/** Sends a chat request, leaves when `called` resolves, and resolves when the gateway knows. */
async function leaveWhen (called: Promise<unknown>, { app, url }: Gateway, key: string): Promise<void> {
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] })
  const { hostname, port } = new URL(url)
  const accepted = once(app.server, 'connection')
  const socket = connect(Number(port), hostname)
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  const [connection] = await accepted
  await called
  const closed = once(connection, 'close')
  socket.destroy()
  await closed
}

/** Resolves once the body of the only request was read, after which its limits are asked. */
async function bodyRead ({ app }: Gateway): Promise<void> {
  while (app.load.counts.bytes === 0) await turn()
  await turn()
}

async function nothingIsLeft (t: Test, { app }: Gateway): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn()
  t.strictSame(app.load.counts, { requests: 0, streams: 0, polls: 0, bytes: 0 })
  t.equal(app.running.size, 0)
}

t.test('a client that has left before its key was found leaves nothing behind', async t => {
  const gateway = await startWithProvider(t)
  const { app, key, upstream } = gateway
  const { waits, called, release } = hold(app.keys.authenticate)
  app.keys.authenticate = waits
  await leaveWhen(called, gateway, key)
  release()
  await nothingIsLeft(t, gateway)
  t.equal(upstream.requests.length, 0)
})

t.test('a client that has left before its limits were asked leaves nothing behind, and no provider is called', async t => {
  const gateway = await startWithProvider(t)
  const { app, upstream } = gateway
  const { key } = (await app.inject({
    method: 'POST',
    url: '/admin/keys',
    headers: { authorization: `Bearer ${adminKey}` },
    payload: { account: 'default', limits: { requests_per_minute: 100 } }
  })).json()
  const { store } = app
  const { transaction } = store
  const { waits, called, release } = hold(transaction)
  store.transaction = waits as typeof transaction
  await leaveWhen(Promise.all([bodyRead(gateway), called]), gateway, key)
  store.transaction = transaction
  release()
  await nothingIsLeft(t, gateway)
  t.equal(upstream.requests.length, 0)
})
