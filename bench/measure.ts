import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { startServer } from './child.ts'
import type { Child, Program } from './child.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { requests } from './requests.ts'
import type { Scenario } from './scenarios.ts'
import { spreadOf, standardErrorOf } from './statistics.ts'
import type { Estimate, Spread } from './statistics.ts'

/** One line of the report: the same quantity of the reference and of the subject; lower is better. */
export interface Measurement {
  title: string
  unit: string
  bare: Spread
  subject: Spread
  /** Ratio of paired rounds; null if only the figures count. */
  ratio: Spread | null
  targetRatio: number | null
  /** Difference between subject and reference, in the unit, if that counts instead of the ratio. */
  extra?: Estimate
  targetExtra?: number
  /** Target of the subject's own figure, in µs. */
  maxUs?: number | undefined
}

/** Two servers in front of the same upstream. */
export interface ServerPair<Server> { bare: Server, subject: Server }

export type Load = (order: LoadOrder) => Promise<LoadResult>

/** Measures CPU time per unit of work, in µs, in alternating rounds. Throws an Error on a wrong answer. */
export async function measureCpu (
  { bare, subject }: ServerPair<Child>, scenario: Scenario, load: Load, rounds: number
): Promise<Measurement> {
  const { title, unit, units, warmUp, warmUpShort = 0, targetRatio } = scenario
  const unitUs = async (server: Child): Promise<number> => {
    return await cpuUsPerRequest(server, load, scenario.load) * scenario.load.count / units
  }
  for (const { url, key } of [bare, subject]) {
    if (warmUpShort > 0) await runLoad(load, { request: 'short', concurrency: 16, count: warmUpShort, url, key })
    await runLoad(load, { ...scenario.load, count: warmUp, url, key })
  }
  const pairs: ServerPair<number>[] = []
  for (let round = 0; round < rounds; round++) {
    const subjectUs = await unitUs(subject)
    pairs.push({ bare: await unitUs(bare), subject: subjectUs })
  }
  return { title: `CPU, ${title}`, unit: `µs/${unit}`, targetRatio, ...spreadsOf(pairs) }
}

/** Longer than the flush intervals of ledger and request log. */
const writeDelayMs = 150

/**
 * CPU time of a server per request, in µs, including its writes up to `afterMs` after the answers. Throws an
 * Error on a wrong answer.
 */
export async function cpuUsPerRequest (
  server: Child, load: Load, order: Omit<LoadOrder, 'url' | 'key'>, afterMs = writeDelayMs
): Promise<number> {
  const { url, key } = server
  const before = await server.usage()
  await runLoad(load, { ...order, url, key })
  await pause(afterMs)
  const after = await server.usage()
  return (after.cpuUs - before.cpuUs) / order.count
}

/** The most that the median latency may exceed that of the reference, in µs. */
const maxExtraLatencyUs = 100

/** Measures the median latency added to that of the provider, in µs, at a fixed rate. */
export async function measureLatency (
  { bare, subject }: ServerPair<Child>, upstreamUrl: string, options: Omit<LoadOrder, 'url' | 'key'>, load: Load,
  rounds: number
): Promise<Measurement> {
  const p50Us = async (url: string, key: string): Promise<number> => {
    return (await runLoad(load, { ...options, url, key })).p50Ms * 1000
  }
  await p50Us(bare.url, bare.key)
  await p50Us(subject.url, subject.key)
  const pairs: ServerPair<number>[] = []
  for (let round = 0; round < rounds; round++) {
    const direct = await p50Us(upstreamUrl, 'none')
    const viaBare = await p50Us(bare.url, bare.key)
    const viaSubject = await p50Us(subject.url, subject.key)
    pairs.push({ bare: viaBare - direct, subject: viaSubject - direct })
  }
  const extraOf = (some: readonly ServerPair<number>[]): number =>
    spreadOf(some.map(({ bare, subject }) => subject - bare)).middle
  return {
    title: `added p50 at ${options.perSecond} requests/s`,
    unit: 'µs',
    ...spreadsOf(pairs),
    ratio: null,
    targetRatio: null,
    extra: { value: extraOf(pairs), error: standardErrorOf(pairs, extraOf) },
    targetExtra: maxExtraLatencyUs
  }
}

/** Measures the time from the start of the process to the first 200, in ms, and its memory then, in MiB. */
export async function measureStart (
  programs: () => Promise<ServerPair<Program>>, rounds: number
): Promise<Measurement[]> {
  const starts: ServerPair<number>[] = []
  const sizes: ServerPair<number>[] = []
  for (let round = 0; round < rounds; round++) {
    const programPair = await programs()
    const bare = await started(programPair.bare)
    const subject = await started(programPair.subject)
    starts.push({ bare: bare.startMs, subject: subject.startMs })
    sizes.push({ bare: bare.rssMiB, subject: subject.rssMiB })
  }
  return [
    { title: 'start to first 200', unit: 'ms', ...spreadsOf(starts), ratio: null, targetRatio: null },
    { title: 'idle memory (RSS)', unit: 'MiB', ...spreadsOf(sizes), ratio: null, targetRatio: null }
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
    throw new Error(`${program.file} first answered ${statusCode}: ${text.slice(0, 500)}`)
  }
  return { startMs, rssMiB: rssBytes / 2 ** 20 }
}

/** Runs a load order. Throws an Error on a wrong answer. */
export async function runLoad (load: Load, order: LoadOrder): Promise<LoadResult> {
  const result = await load(order)
  if (result.failure !== null) throw new Error(result.failure)
  return result
}

function spreadsOf (pairs: readonly ServerPair<number>[]) {
  return {
    bare: spreadOf(pairs.map(({ bare }) => bare)),
    subject: spreadOf(pairs.map(({ subject }) => subject)),
    ratio: spreadOf(pairs.map(({ bare, subject }) => subject / bare))
  }
}
