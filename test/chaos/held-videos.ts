import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { request } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'
import { freePort } from '../helpers/free-port.ts'
import { addressOf, spawnGateway, temporaryFolder, type GatewayProcess } from '../helpers/process.ts'
import { startHaproxyBefore, startNginxBefore } from '../servers/proxies.ts'
import { preparePython } from '../helpers/python.ts'
import { startVideoProvider, type VideoProvider } from '../servers/video-provider.ts'
import { startNodeClients, startPythonClients, type Clients, type Outcome } from './held-videos-clients.ts'
import { startPostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'

// Two nodes on Postgres behind nginx and HAProxy, with the settings of deploy/, are restarted one after the
// other while clients with OpenAI's SDKs wait for videos. No client may notice.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    clients: { type: 'string', default: '200' },
    /** How long a video takes at its provider, in seconds. */
    from: { type: 'string', default: '30' },
    to: { type: 'string', default: '45' },
    balancers: { type: 'string', default: 'nginx,nginx with HTTP/1.0,HAProxy' }
  }
})
const clients = Number(values.clients)
const report = createReport()
process.stdout.write(`held videos, seed ${values.seed}\n`)

await using stack = new AsyncDisposableStack()
const t = { teardown: (work: () => unknown) => stack.defer(async () => { await work() }) }
const python = await preparePython()
const server = stack.use(await startPostgresProcess())
const provider = stack.use(await startVideoProvider())
const ports = [await freePort(), await freePort()]

/** How to start each load balancer, and the delay of docs/many-nodes.md for it. */
const balancers: Record<string, { delayS: number, start: () => Promise<number | null> }> = {
  nginx: { delayS: 0, start: () => startNginxBefore(t, ports) },
  // As nginx does by default before 1.29.7.
  'nginx with HTTP/1.0': { delayS: 0, start: () => startNginxBefore(t, ports, '1.0') },
  HAProxy: { delayS: 5, start: () => startHaproxyBefore(t, ports) }
}
for (const name of values.balancers.split(',')) {
  const { delayS, start } = balancers[name] ?? {}
  const port = await start?.()
  if (port == null || delayS === undefined) process.stdout.write(`${name} is not installed, nothing was checked\n`)
  else await restartBehind(name, `http://127.0.0.1:${port}`, delayS)
}
report.close()

interface Cluster {
  key: string
  store: Store
  replace (index: number): Promise<GatewayProcess>
  stop (): Promise<void>
}

async function startCluster (delayS: number): Promise<Cluster> {
  const DATABASE_URL = await server.createSchema()
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'gateway.yaml'), `
providers: [{ id: up, base_url: '${provider.url}', api_key: sk-up }]
models: [{ id: film, kind: video, provider: up, price: { second: 0.001 }, video: { seconds: [4], default_seconds: 4 } }]
video: { heartbeat_after_ms: 1000, heartbeat_every_ms: 1000, polls_per_second: 100 }
`)
  const env = {
    DATABASE_URL,
    TOLLGATE_CONFIG: join(folder, 'gateway.yaml'),
    TOLLGATE_MEDIA: await temporaryFolder(t),
    TOLLGATE_STARTING_CREDIT: '1000',
    TOLLGATE_TRUST_PROXY: '127.0.0.1',
    TOLLGATE_DRAIN_SECONDS: '600',
    TOLLGATE_DRAIN_DELAY_SECONDS: String(delayS),
    // The whole test runs on one machine, so event loop delay must not cause load shedding.
    TOLLGATE_MAX_LAG_MS: '60000'
  }
  const start = async (PORT: number) => {
    const node = await spawnGateway(t, { ...env, PORT: String(PORT) })
    return { node, key: (await addressOf(node)).key }
  }
  const nodes = await Promise.all(ports.map(start))
  return {
    key: nodes.map(({ key }) => key).join(''),
    store: await openStore(DATABASE_URL),
    async replace (index) {
      const [old, port] = [nodes[index], ports[index]]
      if (old === undefined || port === undefined) throw new TypeError(`There is no node ${index}`)
      old.node.child.kill('SIGTERM')
      await old.node.exited
      nodes[index] = await start(port)
      await ready(port)
      return old.node
    },
    async stop () {
      for (const { node } of nodes) node.child.kill('SIGTERM')
      await Promise.all(nodes.map(({ node }) => node.exited))
    }
  }
}

async function ready (port: number): Promise<void> {
  for (let status = 0; status !== 200; await pause(100)) {
    const answer = await request(`http://127.0.0.1:${port}/readyz`)
    await answer.body.dump()
    status = answer.statusCode
  }
}

async function restartBehind (balancer: string, origin: string, delayS: number): Promise<void> {
  const cluster = await startCluster(delayS)
  const { key, store } = cluster
  // A load balancer that has seen no node yet must notice both.
  await pause(4000)
  const before = provider.jobs.length
  const load = startLoad({ url: `${origin}/v1`, key, name: balancer })
  const held = await heldVideos(store)
  report.check(held === clients, `${balancer}: ${held} requests are held`)
  const codes: (number | null)[] = []
  let [handedOver, longestS] = [0, 0]
  for (const index of ports.keys()) {
    const startedMs = performance.now()
    const node = await cluster.replace(index)
    longestS = Math.max(longestS, (performance.now() - startedMs) / 1000)
    codes.push(await node.exited)
    for (const [, jobs] of node.output().matchAll(/"jobs":(\d+),"msg":"jobs were handed over"/g)) handedOver += Number(jobs)
    // HAProxy checks readiness every second.
    await pause(5000)
  }
  const outcomes = (await Promise.all(load.map(clients => clients.stop()))).flat()
  await cluster.stop()
  print(balancer, outcomes, `${codes.length} restarts of at most ${longestS.toFixed(0)} s, ${handedOver} jobs handed over`)
  report.check(codes.every(code => code === 0), `${balancer}: the nodes ended with ${codes.join()}`)
  report.check(handedOver > 0, `${balancer}: no job was handed over`)
  await checkBooks(balancer, store, provider.jobs.slice(before), outcomes.length)
  await store.close()
}

function startLoad (gateway: { url: string, key: string, name: string }): Clients[] {
  const options = {
    ...gateway, fromMs: Number(values.from) * 1000, toMs: Number(values.to) * 1000, seed: Number(values.seed)
  }
  if (python === null) return [startNodeClients({ ...options, clients })]
  const half = Math.floor(clients / 2)
  return [
    startNodeClients({ ...options, clients: clients - half }),
    startPythonClients(python, { ...options, clients: half })
  ]
}

/** Waits until all clients wait for a video; returns how many do. */
async function heldVideos (store: Store): Promise<number> {
  const untilMs = performance.now() + 60_000
  let held = 0
  for (; held < clients && performance.now() < untilMs; await pause(200)) {
    const row = await store.get<{ held: number }>(
      "select cast(count(*) as bigint) as held from job where state in ('queued', 'running')")
    held = row?.held ?? 0
  }
  // Status 200 and spaces were sent to each.
  await pause(2000)
  return held
}

function print (balancer: string, outcomes: readonly Outcome[], restarts: string): void {
  const failures = outcomes.filter(({ failure }) => failure !== null)
  const bySdk = Object.entries(Object.groupBy(outcomes, ({ client }) => client))
    .map(([client, own]) => `${own.length} by ${client}`)
  const retries = outcomes.reduce((sum, { attempts }) => sum + Math.max(0, attempts - 1), 0)
  process.stdout.write(`${balancer}: ${restarts}; ${outcomes.length} videos (${bySdk.join(', ')}), ` +
    `${retries} retries, ${failures.length} failed\n`)
  report.check(failures.length === 0, `${balancer}: ${JSON.stringify(failures.slice(0, 5))}`)
}

async function checkBooks (
  balancer: string, store: Store, made: VideoProvider['jobs'], videos: number
): Promise<void> {
  report.check(made.length === videos, `${balancer}: ${made.length} videos were made for ${videos} requests`)
  report.check(made.every(({ submits }) => submits === 1), `${balancer}: each was submitted once`)
  const usage = await store.get<{ count: number }>(
    "select cast(count(distinct ref) as bigint) as count from entry where kind = 'usage'")
  const entries = await store.get<{ count: number }>("select cast(count(*) as bigint) as count from entry where kind = 'usage'")
  report.check(usage?.count === videos && entries?.count === videos, `${balancer}: ${entries?.count} charges for ${videos} videos`)
  report.check((await checkLedger(store)).length === 0, `${balancer}: the books add up`)
}
