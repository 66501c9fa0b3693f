import { once } from 'node:events'
import { Agent, createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { Agent as Client, request } from 'undici'
import { sharedPostgres } from '../helpers/postgres.ts'
import { addressOf, spawnGateway, temporaryFolder } from '../helpers/process.ts'
import type { GatewayProcess } from '../helpers/process.ts'

/**
 * A typical load balancer: it keeps connections open, checks `/readyz` periodically, and sends requests to
 * the ready nodes in turn, without retries.
 */
async function startBalancer (t: Test, checkEveryMs: number) {
  const nodes = new Map<string, boolean>()
  const agent = new Agent({ keepAlive: true })
  let turn = 0
  const check = async () => {
    for (const origin of nodes.keys()) {
      const answer = await request(`${origin}/readyz`).catch(() => null)
      await answer?.body.dump()
      if (nodes.has(origin)) nodes.set(origin, answer?.statusCode === 200)
    }
  }
  const timer = setInterval(check, checkEveryMs)
  const server = createServer((exchange, outgoing) => {
    const ready = [...nodes].filter(([, isReady]) => isReady)
    const [origin] = ready[turn++ % ready.length] ?? ['http://127.0.0.1:1']
    const { url = '/', method, headers } = exchange
    const upstream = forward(new URL(url, origin), { method, headers, agent }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: 'keep-alive' })
      answer.pipe(outgoing)
      answer.on('error', () => outgoing.destroy())
    })
    upstream.on('error', () => outgoing.destroy())
    exchange.pipe(upstream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    clearInterval(timer)
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async add (origin: string) {
      nodes.set(origin, false)
      while (nodes.get(origin) !== true) await check()
    },
    remove: (origin: string) => nodes.delete(origin)
  }
}

t.test('two nodes are replaced one after the other under streams, and no request fails', async t => {
  const DATABASE_URL = await (await sharedPostgres()).createSchema()
  const TOLLGATE_MEDIA = await temporaryFolder(t)
  const start = async (): Promise<{ node: GatewayProcess, origin: string, key: string }> => {
    const node = await spawnGateway(t, { DATABASE_URL, TOLLGATE_MEDIA, TOLLGATE_DRAIN_DELAY_SECONDS: '1' })
    const { url, key } = await addressOf(node)
    return { node, origin: url.replace('/v1', ''), key }
  }
  const balancer = await startBalancer(t, 100)
  const nodes = await Promise.all([start(), start(), start(), start()])
  const [first, second, ...fresh] = nodes
  await balancer.add(first.origin)
  await balancer.add(second.origin)
  const headers = { authorization: `Bearer ${nodes.map(({ key }) => key).join('')}`, 'content-type': 'application/json' }
  const client = new Client({ connections: 50 })
  t.teardown(() => client.close())

  const stopped = new AbortController()
  const failures: unknown[] = []
  let finished = 0
  const work = async () => {
    while (!stopped.signal.aborted) {
      try {
        const body = JSON.stringify({
          model: 'sandbox-chat', stream: true, max_tokens: 20, messages: [{ role: 'user', content: 'Tell me something.' }]
        })
        const answer = await request(`${balancer.url}/chat/completions`, { method: 'POST', headers, body, dispatcher: client })
        const text = await answer.body.text()
        if (answer.statusCode !== 200 || !text.endsWith('data: [DONE]\n\n')) failures.push([answer.statusCode, text])
        finished++
      } catch (error) {
        failures.push(error)
      }
    }
  }
  const clients = Array.from({ length: 20 }, work)
  for (const { node, origin } of [first, second]) {
    const before = finished
    await balancer.add(fresh.shift()?.origin ?? '')
    node.child.kill('SIGTERM')
    t.equal(await node.exited, 0)
    balancer.remove(origin)
    t.ok(finished > before)
  }
  stopped.abort()
  await Promise.all(clients)
  t.same(failures, [])
  t.ok(finished > 20, `${finished} requests`)
})
