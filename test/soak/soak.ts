import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Agent, request } from 'undici'
import { checkLedger, type Violation } from '../../services/ledger/check.ts'
import { deployedAt, failAtRandom } from '../faults.ts'
import { startGateway, type Gateway } from '../helper.ts'
import { createRandom, type Random } from '../services/ledger/random.ts'
import { startUpstream } from '../upstream.ts'

export interface Soaked {
  requests: number
  statuses: Record<string, number>
  /** The median of the memory in use after a collection, in the middle and the last third of the time. */
  middleBytes: number
  lastBytes: number
  /** How many of each kind of resource keep the process alive, before the load and after it. */
  before: Record<string, number>
  after: Record<string, number>
  heldNano: number
  /** Client connections that are still open. */
  connections: number
  violations: Violation[]
}

interface SoakOptions { seconds: number, seed: number, concurrency: number }

/** Longest wait for what is let go of late: idle connections, statistics, spare money. */
const settleMs = 15_000

/** Runs mixed load with faults for some time, and returns what is left of it. */
export async function soak ({ seconds, seed, concurrency }: SoakOptions): Promise<Soaked> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const ends: (() => unknown)[] = []
  const upstream = await startUpstream()
  const random = createRandom(seed)
  failAtRandom(upstream, random)
  const config = deployedAt([upstream.url, upstream.url])
  const gateway = await startGateway({ teardown: work => ends.push(work) },
    { config, env: { TOLLGATE_STARTING_CREDIT: '100000', TOLLGATE_CACHE_SIZE: '4MiB' } })
  const agent = new Agent({ connections: concurrency, keepAliveTimeout: 1000 })

  const statuses: Record<string, number> = {}
  const untilMs = performance.now() + seconds * 1000
  const before = resources()
  async function client (): Promise<void> {
    while (performance.now() < untilMs) {
      const status = await sendOne(gateway, agent, random)
      statuses[status] = (statuses[status] ?? 0) + 1
      // The scripted provider and the log of the tests keep what they saw; the gateway is what is measured.
      upstream.requests.length = 0
      gateway.lines.length = 0
    }
  }
  const samples: number[] = []
  async function sample (): Promise<void> {
    for (let next = performance.now(); next < untilMs; next += seconds * 1000 / 60) {
      await pause(Math.max(0, next - performance.now()))
      collect()
      const { heapUsed, external } = process.memoryUsage()
      samples.push(heapUsed + external)
    }
  }
  await Promise.all([sample(), ...Array.from({ length: concurrency }, client)])
  await agent.close()

  const connections = promisify(gateway.app.server.getConnections.bind(gateway.app.server))
  const isBusy = async () => await connections() > 0 || hasMore(before)
  for (let waitedMs = 0; waitedMs < settleMs && await isBusy(); waitedMs += 250) await pause(250)
  await gateway.app.ledger.flush()
  const [held] = await gateway.app.store.all<{ held: number }>('select coalesce(sum(amount - spare), 0) as held from hold where state = 0')
  const found: Soaked = {
    requests: Object.values(statuses).reduce((sum, count) => sum + count, 0),
    statuses,
    middleBytes: median(samples.slice(20, 40)),
    lastBytes: median(samples.slice(40)),
    before,
    after: resources(),
    heldNano: held?.held ?? NaN,
    connections: await connections(),
    violations: await checkLedger(gateway.app.store)
  }
  for (const end of ends.reverse()) await end()
  await upstream.close().catch(() => {})
  return found
}

/** One request of a kind chosen at random; returns how it ended, `left` when the client hung up. */
async function sendOne ({ url, headers }: Gateway, dispatcher: Agent, random: Random): Promise<string> {
  const content = `Question ${Math.floor(random.next() * 50)}`
  const chat = { model: 'chat', messages: [{ role: 'user', content }] }
  const kinds = [
    { path: '/chat/completions', body: chat },
    { path: '/chat/completions', body: { ...chat, stream: true } },
    { path: '/chat/completions', body: { ...chat, stream: true }, leaves: true },
    { path: '/chat/completions', body: { ...chat, temperature: 0, stream: random.next() < 0.5 }, cache: 'on' },
    { path: '/completions', body: { model: 'chat', prompt: content } },
    { path: '/chat/completions', body: { model: 'chat' } },
    { path: '/chat/completions', body: { ...chat, model: 'none' } },
    { path: '/models' },
    { path: '/dashboard/billing' }
  ]
  const { path, body, leaves = false, cache } = random.pick(kinds) ?? { path: '/models' }
  const abort = new AbortController()
  try {
    const answer = await request(url + path, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, ...(cache === undefined ? {} : { 'x-tollgate-cache': cache }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: abort.signal
    })
    if (!leaves) {
      await answer.body.text()
      return String(answer.statusCode)
    }
    abort.abort()
    await answer.body.dump().catch(() => {})
    return 'left'
  } catch (error) {
    if (abort.signal.aborted) return 'left'
    throw error
  }
}

function resources (): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

function hasMore (before: Record<string, number>): boolean {
  return Object.entries(resources()).some(([name, count]) => count > (before[name] ?? 0) + 2)
}

function median (values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}
