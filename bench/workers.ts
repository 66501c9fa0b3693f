import { mkdtemp, mkdtempDisposable } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPostgresProcess } from '../test/chaos/postgres.ts'
import { cpuUs, startGatewayProcess, type GatewayProcess } from './gateway-process.ts'
import { chatRequest, sendLightLoad } from './light-load.ts'
import { watchOtherLoad } from './other-load.ts'
import { spreadOf } from './statistics.ts'

// Compares nodes with one and with several workers, on SQLite and Postgres: CPU time per request, and
// requests per second beside a client that takes little of the cores. The sandbox answers, without a server.

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: String(availableParallelism()) },
    rounds: { type: 'string', default: '9' },
    count: { type: 'string', default: '6000' },
    engine: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] }
  }
})
const body = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'What is a gateway?' }], max_tokens: 20 }
const connections = 64
const warmUp = 30_000
/** Longer than the flush intervals of ledger and request log. */
const writeDelayMs = 150

/** `busiest`: the share of the busiest process in the CPU time of its node. */
interface Round { us: number, perSecond: number, busiest: number, other: number }

/** Sends the same request `count` times. */
async function load (node: GatewayProcess, count: number): Promise<void> {
  await sendLightLoad({ url: node.url, requests: [chatRequest(node, body)], count, connections })
}

async function measure (node: GatewayProcess, count: number): Promise<Round> {
  const { pids } = node
  const before = pids.map(cpuUs)
  const otherLoad = watchOtherLoad()
  const startedMs = performance.now()
  await load(node, count)
  const perSecond = count / (performance.now() - startedMs) * 1000
  const other = otherLoad()
  await pause(writeDelayMs)
  const used = pids.map((pid, index) => cpuUs(pid) - (before[index] ?? 0))
  const sum = used.reduce((sum, us) => sum + us, 0)
  return { us: sum / count, perSecond, busiest: Math.max(...used) / sum, other }
}

async function compare (engine: string, createUrl: () => Promise<string>, workspace: string): Promise<void> {
  const count = Number(values.count)
  const workers = Number(values.workers)
  const start = async (workers: number) => await startGatewayProcess(await mkdtemp(join(workspace, 'node-')), {
    DATABASE_URL: await createUrl(), TOLLGATE_WORKERS: String(workers)
  })
  const one = await start(1)
  const several = await start(workers)
  const rounds: [Round, Round][] = []
  await load(one, warmUp)
  await load(several, warmUp * workers)
  for (let round = 0; round < Number(values.rounds); round++) {
    if (round % 2 === 0) rounds.push([await measure(one, count), await measure(several, count)])
    else {
      const second = await measure(several, count)
      rounds.push([await measure(one, count), second])
    }
  }
  const show = (name: string, pick: (pair: [Round, Round]) => number, digits: number): void => {
    const { min, middle, max } = spreadOf(rounds.map(pick))
    console.log(`${engine}, ${name}: ${middle.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`)
  }
  show('CPU per request, 1 worker, µs', ([one]) => one.us, 0)
  show(`CPU per request, ${values.workers} workers, µs`, ([, several]) => several.us, 0)
  show('ratio of both', ([one, several]) => several.us / one.us, 2)
  show('requests per second, 1 worker', ([one]) => one.perSecond, 0)
  show(`requests per second, ${values.workers} workers`, ([, several]) => several.perSecond, 0)
  show('ratio of both', ([one, several]) => several.perSecond / one.perSecond, 2)
  show('share of the busiest process', ([, several]) => several.busiest, 2)
  show('processors that other programs used', ([one, several]) => (one.other + several.other) / 2, 2)
  await Promise.all([one.stop(), several.stop()])
}

await using workspace = await mkdtempDisposable(join(tmpdir(), 'bench-'))
if (values.engine.includes('sqlite')) {
  await compare('SQLite', async () => `sqlite:${join(await mkdtemp(join(workspace.path, 'db-')), 'tollgate.db')}`, workspace.path)
}
if (values.engine.includes('postgres')) {
  await using postgres = await startPostgresProcess()
  await compare('Postgres', () => postgres.createSchema(), workspace.path)
}
