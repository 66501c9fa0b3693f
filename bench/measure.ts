import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { startServer } from './child.ts'
import type { Child, Program } from './child.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { requests } from './requests.ts'
import type { Scenario } from './scenarios.ts'
import { spreadOf } from './statistics.ts'
import type { Estimate, Spread } from './statistics.ts'

/** One line of the result: the same quantity of the reference and of the subject; lower is better. */
export interface Measurement {
  title: string
  unit: string
  bare: Spread
  subject: Spread
  /** Of the rounds, each measured on both within seconds. Null where only the figures themselves count. */
  ratio: Spread | null
  targetRatio: number | null
  /** What the subject needs beyond the reference, in the unit; where that counts, not the ratio. */
  extra?: Estimate
  targetExtra?: number
  /** The most that the subject may need, in µs. */
  mostUs?: number | undefined
}

/** Two servers in front of the same upstream. */
export interface Pair<Server> { bare: Server, subject: Server }

export type Load = (order: LoadOrder) => Promise<LoadResult>

/** CPU time per unit of work, in µs, in rounds that alternate. Throws an Error on a wrong answer. */
export async function measureCpu (
  { bare, subject }: Pair<Child>, scenario: Scenario, load: Load, rounds: number
): Promise<Measurement> {
  const { title, unit, units, warmUp, warmUpShort = 0, targetRatio } = scenario
  const unitUs = async (server: Child): Promise<number> => {
    return await cpuUs(server, load, scenario.load) * scenario.load.count / units
  }
  for (const { url, key } of [bare, subject]) {
    if (warmUpShort > 0) await loaded(load, { request: 'short', concurrency: 16, count: warmUpShort, url, key })
    await loaded(load, { ...scenario.load, count: warmUp, url, key })
  }
  const pairs: Pair<number>[] = []
  for (let round = 0; round < rounds; round++) {
    const subjectUs = await unitUs(subject)
    pairs.push({ bare: await unitUs(bare), subject: subjectUs })
  }
  return { title: `CPU, ${title}`, unit: `µs/${unit}`, targetRatio, ...compared(pairs) }
}

/** Longer than what a request leaves to be written waits to be written. */
const aftermathMs = 150

/**
 * CPU time of a server per request, in µs, with what it does in so many ms after the answers. Throws an Error
 * on a wrong answer.
 */
export async function cpuUs (
  server: Child, load: Load, order: Omit<LoadOrder, 'url' | 'key'>, afterMs = aftermathMs
): Promise<number> {
  const { url, key } = server
  const before = await server.usage()
  await loaded(load, { ...order, url, key })
  await pause(afterMs)
  const after = await server.usage()
  return (after.cpuUs - before.cpuUs) / order.count
}

/** The median time that a request takes longer than without any gateway, in ms, at a fixed rate. */
export async function measureLatency (
  { bare, subject }: Pair<Child>, upstreamUrl: string, options: Omit<LoadOrder, 'url' | 'key'>, load: Load,
  rounds: number
): Promise<Measurement> {
  const p50Ms = async (url: string, key: string) => (await loaded(load, { ...options, url, key })).p50Ms
  await p50Ms(bare.url, bare.key)
  await p50Ms(subject.url, subject.key)
  const pairs: Pair<number>[] = []
  for (let round = 0; round < rounds; round++) {
    const direct = await p50Ms(upstreamUrl, 'none')
    const viaBare = await p50Ms(bare.url, bare.key)
    const viaSubject = await p50Ms(subject.url, subject.key)
    pairs.push({ bare: viaBare - direct, subject: viaSubject - direct })
  }
  const title = `added p50 at ${options.perSecond} requests/s`
  return { title, unit: 'ms', ...compared(pairs), ratio: null, targetRatio: null }
}

/** From starting the process to its first 200, in ms, and its memory right after that, in MiB. */
export async function measureStart (
  programs: () => Promise<Pair<Program>>, rounds: number
): Promise<Measurement[]> {
  const starts: Pair<number>[] = []
  const sizes: Pair<number>[] = []
  for (let round = 0; round < rounds; round++) {
    const programPair = await programs()
    const bare = await started(programPair.bare)
    const subject = await started(programPair.subject)
    starts.push({ bare: bare.startMs, subject: subject.startMs })
    sizes.push({ bare: bare.rssMiB, subject: subject.rssMiB })
  }
  return [
    { title: 'start to first 200', unit: 'ms', ...compared(starts), ratio: null, targetRatio: null },
    { title: 'idle memory (RSS)', unit: 'MiB', ...compared(sizes), ratio: null, targetRatio: null }
  ]
}

async function started (program: Program): Promise<{ startMs: number, rssMiB: number }> {
  const startedAt = performance.now()
  await using server = await startServer(program)
  const { statusCode, body } = await request(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.key}` },
    body: requests.short.body
  })
  const text = await body.text()
  const startMs = performance.now() - startedAt
  const { rssBytes } = await server.usage()
  if (statusCode !== 200) {
    throw new Error(
    `${program.file} first answered ${statusCode}: ${text.slice(0, 500)}`
    )
  }
  return { startMs, rssMiB: rssBytes / 2 ** 20 }
}

/** Throws an Error on a wrong answer. */
export async function loaded (load: Load, order: LoadOrder): Promise<LoadResult> {
  const result = await load(order)
  if (result.failure !== null) throw new Error(result.failure)
  return result
}

function compared (pairs: readonly Pair<number>[]) {
  return {
    bare: spreadOf(pairs.map(({ bare }) => bare)),
    subject: spreadOf(pairs.map(({ subject }) => subject)),
    ratio: spreadOf(pairs.map(({ bare, subject }) => subject / bare))
  }
}
