import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { request } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { openStore } from '../../services/store/open.ts'
import { freePort } from '../helpers/free-port.ts'
import { addressOf, spawnGateway, temporaryFolder } from '../helpers/process.ts'
import { startHaproxyBefore, startNginxBefore } from '../servers/proxies.ts'
import { createRandom } from '../services/billing/ledger/random.ts'
import { startUpstream } from '../servers/upstream.ts'
import { ask, newStream, pacedBy, startLoad } from './balancers-load.ts'
import { startPostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'

// Two nodes on Postgres behind nginx and HAProxy, with the settings of deploy/: restarts one after the other
// under streams, exceeds limits, and kills a node.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    streams: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '2' }
  }
})
const adminKey = 'operator-key-of-the-chaos'
const report = createReport()
process.stdout.write(`balancers, seed ${values.seed}\n`)
const random = createRandom(Number(values.seed))

await using stack = new AsyncDisposableStack()
const t = { teardown: (work: () => unknown) => stack.defer(async () => { await work() }) }
const ports = [await freePort(), await freePort()]
const port = await startNginxBefore(t, ports)
if (port === null) process.stdout.write('nginx is not installed, nothing was checked\n')
else await run(`http://127.0.0.1:${port}`)
report.close()

async function run (origin: string): Promise<void> {
  const server = stack.use(await startPostgresProcess())
  const DATABASE_URL = await server.createSchema()
  const upstream = await startUpstream()
  stack.defer(() => upstream.close())
  upstream.always(pacedBy(random))
  const env = {
    DATABASE_URL,
    OPENAI_API_KEY: 'sk-up',
    OPENAI_BASE_URL: upstream.url,
    TOLLGATE_ADMIN_KEY: adminKey,
    TOLLGATE_MEDIA: await temporaryFolder(t),
    TOLLGATE_STARTING_CREDIT: '1000',
    // The whole test runs on one machine, so event loop delay must not cause load shedding.
    TOLLGATE_MAX_LAG_MS: '60000'
  }
  // The delay of docs/many-nodes.md for this load balancer.
  let delayS = 0
  const start = async (PORT: number) => {
    const own = { PORT: String(PORT), TOLLGATE_DRAIN_DELAY_SECONDS: String(delayS) }
    const node = await spawnGateway(t, { ...env, ...own })
    return { node, key: (await addressOf(node)).key }
  }
  const nodes = await Promise.all(ports.map(start))
  const key = nodes.map(({ key }) => key).join('')
  const replace: Replace = async (index, signal) => {
    const [old, PORT] = [nodes[index], ports[index]]
    if (old === undefined || PORT === undefined) throw new TypeError(`There is no node ${index}`)
    old.node.child.kill(signal)
    const code = await old.node.exited
    const exitedMs = performance.now()
    nodes[index] = await start(PORT)
    return { code, exitedMs }
  }
  const gateway = { url: `${origin}/v1`, key, create: (limits: object) => createKey(origin, limits) }

  await restartEach('nginx', gateway, replace)
  await exceedLimits(gateway)
  await killOne(gateway, () => replace(0, 'SIGKILL'))
  const other = await startHaproxyBefore(t, ports)
  if (other !== null) {
    delayS = 5
    await Promise.all([replace(0, 'SIGTERM'), replace(1, 'SIGTERM')])
    // Both were down, and HAProxy must notice that they are back.
    await pause(4000)
    await restartEach('HAProxy', { ...gateway, url: `http://127.0.0.1:${other}/v1` }, replace)
  }
  for (const { node } of nodes) node.child.kill('SIGTERM')
  await Promise.all(nodes.map(({ node }) => node.exited))
  const store = await openStore(DATABASE_URL)
  report.check((await checkLedger(store)).length === 0, 'the books add up')
  await store.close()
}

interface Gateway {
  url: string
  /** A key without limits. */
  key: string
  create (limits: object): Promise<string>
}

async function createKey (origin: string, limits: object): Promise<string> {
  const answer = await request(`${origin}/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ account: 'default', limits })
  })
  const created = await answer.body.json() as { key: string }
  return created.key
}

/** Stops a node and restarts it on the same port. Returns how it ended, and when by `performance.now`. */
type Replace = (index: number, signal: NodeJS.Signals) => Promise<{ code: number | null, exitedMs: number }>

/** Replaces every node; no request may fail. */
async function restartEach (balancer: string, { url, key }: Gateway, replace: Replace): Promise<void> {
  const load = startLoad(url, key, Number(values.streams))
  await pause(1500)
  const codes: (number | null)[] = []
  for (let restart = 0; restart < Number(values.rounds) * ports.length; restart++) {
    codes.push((await replace(restart % ports.length, 'SIGTERM')).code)
    // HAProxy checks readiness every second.
    await pause(random.integer(2500, 5000))
  }
  report.check(load.open === Number(values.streams), `${load.open} streams run at the same time`)
  await load.stop()
  const streams = load.take()
  const failures = streams.filter(({ failure }) => failure !== null)
  process.stdout.write(`${balancer}: ${codes.length} restarts under ${streams.length} streams, ${failures.length} failed\n`)
  report.check(failures.length === 0, JSON.stringify(failures.slice(0, 5)))
  report.check(codes.every(code => code === 0), `the nodes ended with ${codes.join()}`)
  const served = new Set(streams.map(({ node }) => node))
  report.check(served.size === ports.length, `the streams were served by ${[...served].join()}`)
}

/** Nodes share a limit: together they admit no more than it, and not much less. */
async function exceedLimits ({ url, create }: Gateway): Promise<void> {
  const [rpm, slots, clients] = [120, 12, 40]
  const many = async (key: string, count: number) => {
    const streams = Array.from({ length: count }, newStream)
    const statuses = await Promise.all(streams.map(stream => ask(url, key, stream)))
    return { statuses, nodes: new Set(streams.map(({ node }) => node)) }
  }
  // Limits count per calendar minute, so none may end meanwhile.
  const leftMs = 60_000 - Date.now() % 60_000
  if (leftMs < 25_000) await pause(leftMs)
  const limited = await create({ requests_per_minute: rpm })
  const statuses: number[] = []
  const endsMs = performance.now() + 20_000
  while (performance.now() < endsMs) statuses.push(...(await many(limited, clients)).statuses)
  const admitted = statuses.filter(status => status === 200).length
  process.stdout.write(`${admitted} of ${statuses.length} requests admitted where ${rpm} a minute may be\n`)
  report.check(admitted <= rpm, `${admitted} requests were admitted within a minute`)
  report.check(admitted > rpm * (1 - ports.length / 16), `only ${admitted} requests were admitted`)
  report.check(statuses.every(status => status === 200 || status === 429), 'what is not admitted is a 429')

  const slotted = await many(await create({ concurrent_requests: slots }), clients)
  const running = slotted.statuses.filter(status => status === 200).length
  process.stdout.write(`${running} of ${clients} streams at once where ${slots} may be\n`)
  report.check(running <= slots && running > 0, `${running} ran at once`)
  report.check(slotted.nodes.size === ports.length, 'both nodes were asked')
}

/** Killing a node breaks only its own connections, and the slots of its requests are released. */
async function killOne (
  { url, key, create }: Gateway, kill: () => Promise<{ exitedMs: number }>
): Promise<void> {
  const load = startLoad(url, key, Number(values.streams))
  const slotted = await create({ concurrent_requests: 12 })
  await pause(random.integer(1500, 3000))
  const waiting = Array.from({ length: 12 }, () => ask(url, slotted, newStream()))
  await pause(200)
  const victim = `127.0.0.1:${ports[0]}`
  const open = load.openAt(victim)
  const killedMs = performance.now()
  const { exitedMs } = await kill()
  await Promise.all(waiting)
  await pause(2000)
  await load.stop()
  const streams = load.take()
  const failures = streams.filter(({ failure }) => failure !== null)
  process.stdout.write(`a node was killed: ${failures.length} of ${streams.length} streams failed, ` +
    `${open} were open there\n`)
  report.check(failures.length > 0, 'the node had streams')
  // A node whose end is under way still takes connections.
  const later = failures.filter(({ requestedMs }) => requestedMs > exitedMs)
  report.check(later.length === 0, `requested after its end: ${JSON.stringify(later.slice(0, 5))}`)
  const others = failures.filter(({ node }) => node !== victim)
  report.check(others.length === 0, JSON.stringify(others.slice(0, 5)))

  // Each node may hold an unused slot for a moment.
  for (let running = 0; running < 11 && performance.now() - killedMs < 40_000;) {
    const streams = Array.from({ length: 12 }, newStream)
    const statuses = await Promise.all(streams.map(stream => ask(url, slotted, stream)))
    running = statuses.filter(status => status === 200).length
  }
  const freeS = (performance.now() - killedMs) / 1000
  process.stdout.write(`all slots were free again ${freeS.toFixed(1)} s after the kill\n`)
  report.check(freeS < 30, `the slots of the killed node were taken for ${freeS} s`)
}
