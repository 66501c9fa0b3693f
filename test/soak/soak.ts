import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Agent } from 'undici'
import { builtInPolicies } from '../../services/config/read/policies.ts'
import { sandboxModels, sandboxProvider } from '../../services/config/sandbox.ts'
import type { GatewayConfig } from '../../services/config/catalogue/types.ts'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import type { Violation } from '../../services/billing/ledger/check/rules.ts'
import type { LoadKind } from '../../services/http/load.ts'
import { deployedAt, failAtRandom } from '../helpers/faults.ts'
import { startGateway, type Gateway } from '../helpers/gateway.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { createRandom } from '../services/billing/ledger/random.ts'
import { startUpstream } from '../servers/upstream.ts'
import { startCrowd } from './crowd.ts'
import { age, diskUse, type DiskUse } from './disk.ts'
import { adminKey, sendEach, sendOne, sendVideos } from './mix.ts'

export interface Soaked {
  requests: number
  statuses: Record<string, number>
  /** Heap in use after a garbage collection without load, some sixty times or every 5 s; bytes. */
  heap: number[]
  /** Resident memory of the process at the same times. */
  resident: number[]
  /** Resident memory just before, under load. */
  atWork: number[]
  /** What the node kept outside its memory, at the same times, and how many requests it had answered. */
  disk: (DiskUse & { atMs: number, requests: number })[]
  /** How many resources of each kind keep the process alive, before and after the load. */
  before: Record<string, number>
  after: Record<string, number>
  heldNano: number
  /** Client connections that are still open. */
  connections: number
  /** Requests, streams and polls in progress, jobs, and occupied slots. */
  left: Record<LoadKind | 'holds' | 'jobs' | 'slots', number>
  violations: Violation[]
}

interface SoakOptions {
  seconds: number
  seed: number
  concurrency: number
  /** Target rate in requests per second. */
  rate: number
}

/** Longest wait for what is released late: idle connections, statistics, slots, spare allowances. */
const settleMs = 20_000
const samples = 60
const shortestSampleMs = 5000
/** The share of the soak for which requests and media are kept. */
const retention = 0.1

/** Runs mixed load with faults for some time, and returns what remains afterwards. */
export async function soak ({ seconds, seed, concurrency, rate }: SoakOptions): Promise<Soaked> {
  setFlagsFromString('--expose-gc')
  const collect: (how: object) => void = runInNewContext('gc')
  const ends: (() => unknown)[] = []
  const teardown = { teardown: (work: () => unknown) => ends.push(work) }
  const upstream = await startUpstream()
  const random = createRandom(seed)
  failAtRandom(upstream, random)
  const folder = await temporaryFolder(teardown)
  const [database, media] = [join(folder, 'soak.db'), join(folder, 'media')]
  const gateway = await startGateway(teardown, {
    config: configOf(upstream.url),
    env: {
      DATABASE_URL: `sqlite:${database}`,
      TOLLGATE_MEDIA: media,
      TOLLGATE_STARTING_CREDIT: '100000',
      TOLLGATE_CACHE_SIZE: '4MiB',
      TOLLGATE_ADMIN_KEY: adminKey
    }
  })
  const dispatcher = new Agent({ connections: concurrency, keepAliveTimeout: 1000 })
  const sender = { gateway, limitedKey: await createLimitedKey(gateway), dispatcher, random }

  const before = resources()
  await sendEach(sender)
  const statuses: Record<string, number> = {}
  const untilMs = performance.now() + seconds * 1000
  const sampleMs = Math.max(shortestSampleMs, seconds * 1000 / samples)
  const crowd = startCrowd({
    clients: concurrency,
    rate,
    untilMs,
    async send () {
      const status = await sendOne(sender)
      statuses[status] = (statuses[status] ?? 0) + 1
      // The scripted provider and the test log record everything; only the gateway is measured.
      upstream.requests.length = 0
      gateway.lines.length = 0
    }
  })
  const { app } = gateway
  const isAtWork = () => {
    const { requests, streams, polls } = app.load.counts
    return crowd.underWay + requests + streams + polls + app.videos.running > 0
  }
  const [heap, resident, atWork]: [number[], number[], number[]] = [[], [], []]
  const disk: Soaked['disk'] = []
  const startedMs = performance.now()
  // The load and the heap reserve of V8 depend on what else the machine does; leaks remain without both.
  async function sample (): Promise<void> {
    atWork.push(process.memoryUsage.rss())
    const release = crowd.hold()
    await until(() => !isAtWork(), 20)
    // A thread that makes videos takes about 25 MiB, and ends when it has been idle for a while.
    await sendVideos(sender)
    await app.ledger.flush()
    collect({ type: 'major', flavor: 'last-resort' })
    const { heapUsed, external, rss } = process.memoryUsage()
    heap.push(heapUsed + external)
    resident.push(rss)
    await app.flushRequestLog()
    const atMs = performance.now() - startedMs
    disk.push({ ...await diskUse({ store: app.store, database, media }), atMs, requests: total(statuses) })
    await age(app.store, seconds * 1000 * retention)
    release()
  }
  async function sampleAll (): Promise<void> {
    for (let leftMs = untilMs - performance.now(); leftMs > 0; leftMs = untilMs - performance.now()) {
      await sample()
      await pause(Math.min(leftMs, sampleMs))
    }
  }
  await Promise.all([crowd.done, sampleAll()])
  await dispatcher.close()

  const connections = promisify(app.server.getConnections.bind(app.server))
  const slotsTaken = async () => {
    const [row] = await app.store.all<{ slots: number }>('select coalesce(sum(slots), 0) as slots from slot_lease')
    return row?.slots ?? NaN
  }
  await until(async () => {
    return !hasMore(before) && !isAtWork() && await connections() === 0 && await slotsTaken() === 0
  }, 250)
  await app.ledger.flush()
  const [held] = await app.store.all<{ held: number }>(
    'select coalesce(sum(amount - spare), 0) as held from hold where state = 0')
  const found: Soaked = {
    requests: total(statuses),
    statuses,
    heap,
    resident,
    atWork,
    disk,
    before,
    after: resources(),
    heldNano: held?.held ?? NaN,
    connections: await connections(),
    left: {
      ...app.load.counts, holds: app.ledger.openHoldCount, jobs: app.videos.running, slots: await slotsTaken()
    },
    violations: await checkLedger(app.store)
  }
  for (const end of ends.reverse()) await end()
  await upstream.close().catch(() => {})
  return found
}

/** Polls a condition for a limited time. */
async function until (isSo: () => boolean | Promise<boolean>, everyMs: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < settleMs && !await isSo(); waitedMs += everyMs) await pause(everyMs)
}

/** Long enough that a busy machine is not taken for a silent provider. */
const timeouts = { connectMs: 5000, firstByteMs: 2000, idleMs: 2000, totalMs: 20_000 }

/** A model with two faulty deployments, and the models of the sandbox. */
function configOf (url: string): GatewayConfig {
  const { providers, models, ...more } = deployedAt([url, url])
  return {
    ...more,
    providers: [...providers.map(provider => ({ ...provider, timeouts })), sandboxProvider],
    models: [...models, ...sandboxModels(sandboxProvider.id)],
    policies: builtInPolicies()
  }
}

/** A key that reaches its limits every minute. */
async function createLimitedKey ({ app }: Gateway): Promise<string> {
  const limits = { requests_per_minute: 60, tokens_per_minute: 100_000, concurrent_requests: 2 }
  const created = await app.inject({
    method: 'POST',
    url: '/admin/keys',
    headers: { authorization: `Bearer ${adminKey}` },
    payload: { account: 'default', limits }
  })
  return created.json().key
}

function total (statuses: Readonly<Record<string, number>>): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0)
}

function resources (): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

function hasMore (before: Record<string, number>): boolean {
  return Object.entries(resources()).some(([name, count]) => count > (before[name] ?? 0) + 2)
}
