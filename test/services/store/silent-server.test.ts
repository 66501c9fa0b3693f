import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { openPostgres } from '../../../services/store/postgres.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { runningMs } from '../../helpers/running-time.ts'
import { assertBooks, createBooks, createLog, posting, reservation, rowOf, startLedger } from '../billing/ledger/helper.ts'
import { until } from '../../helpers/until.ts'

const usd = 1_000_000_000

/** A database, and a store that reaches it through a relay. */
async function open (t: Test) {
  const { url, open } = await createDatabase(t, 'postgres')
  const address = new URL(url)
  const relay = await startRelay(t, Number(address.port))
  address.port = String(relay.port)
  const log = createLog()
  const store = await openPostgres(address.href, { log })
  t.teardown(() => store.close())
  return { direct: await open(), store, relay, log }
}

async function msOf (work: () => Promise<unknown>): Promise<number> {
  const startedMs = runningMs()
  await work()
  return runningMs() - startedMs
}

t.test('when a server vanishes, one statement takes 3 s, and the next ones reach its successor', async t => {
  const { store, relay, log } = await open(t)
  const statement = () => store.get('select 1 as one, pg_sleep(0.02)')
  await Promise.all(Array.from({ length: 5 }, statement))
  relay.swallow()
  const ms = await msOf(async () => await t.rejects(statement(), { name: 'StoreUnavailable' }))
  t.ok(ms < 4_000, `${Math.round(ms)} ms`)
  // The other connections were idle, and are replaced too: a statement on one of them would be rejected.
  await Promise.all(Array.from({ length: 10 }, statement))
  t.ok(log.lines.some(({ message }) => message === 'Postgres does not respond; all connections are replaced'))
})

t.test('requests in memory go on while the server vanishes, and each is charged once', async t => {
  const { direct, store, relay } = await open(t)
  await createBooks(direct, { acme: usd })
  const { ledger } = startLedger(t, store)
  const holds = await Promise.all(Array.from({ length: 60 }, async () =>
    await ledger.reserve(reservation(1_000, { fresh: true }))))
  await ledger.flush()
  relay.swallow()
  const ms = await msOf(() => Promise.all(holds.map(hold => hold.settle(posting(600)))))
  t.ok(ms < 5_000, `${Math.round(ms)} ms`)
  await ledger.close()
  t.match(await rowOf(direct), { spent: 60 * 600, held: 0 })
  t.match(await direct.get("select count(*) as count from entry where kind = 'usage'"), { count: 60 })
  await assertBooks(t, direct)
})

t.test('a commit whose answer is lost on the way is repeated, and books nothing twice', async t => {
  const { direct, store, relay } = await open(t)
  await createBooks(direct, { acme: usd })
  const { ledger } = startLedger(t, store)
  const holds = await Promise.all([true, false].map(async fresh =>
    await ledger.reserve(reservation(1_000, { fresh }))))
  await ledger.flush()
  relay.swallowAnswer('a/model')
  const written = Promise.all(holds.map(hold => hold.settle(posting(600))))
  await relay.swallowed
  await until(async () => (await rowOf(direct))?.spent === 1_200)
  t.equal(ledger.unflushedCount, 2, 'it is committed, but this node does not know')
  await written
  await ledger.close()
  t.match(await rowOf(direct), { spent: 1_200, held: 0 })
  t.match(await direct.get("select count(*) as count from entry where kind = 'usage'"), { count: 2 })
  await assertBooks(t, direct)
})

/** Passes bytes on to a port of this machine, until connections turn into black holes; new ones work. */
async function startRelay (t: Test, target: number) {
  const sockets = new Set<Socket>()
  const swallowed = Promise.withResolvers<void>()
  let connections: { swallows: 'nothing' | 'answers' | 'all' }[] = []
  let trigger: string | null = null

  const relay = createServer(client => {
    const connection = { swallows: 'nothing' as 'nothing' | 'answers' | 'all' }
    connections.push(connection)
    const server = connect(target, '127.0.0.1')
    client.on('data', bytes => {
      if (trigger !== null && bytes.includes(trigger)) {
        trigger = null
        connection.swallows = 'answers'
        swallowed.resolve()
      }
      if (connection.swallows !== 'all') server.write(bytes)
    })
    server.on('data', bytes => { if (connection.swallows === 'nothing') client.write(bytes) })
    for (const [socket, peer] of [[client, server], [server, client]] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => { if (connection.swallows === 'nothing') peer.destroy() })
    }
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  const { port } = relay.address() as AddressInfo
  return {
    port,
    swallowed: swallowed.promise,
    /** The server of all connections so far is gone. */
    swallow (): void {
      for (const connection of connections) connection.swallows = 'all'
      connections = []
    },
    /** The next statement with this text arrives, but nothing comes back on its connection. */
    swallowAnswer (text: string): void {
      trigger = text
    }
  }
}
