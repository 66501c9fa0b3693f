import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureBilling } from './billing.ts'
import { startServer, startWorker } from './child.ts'
import type { Program } from './child.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { maxLongPollKiB, measureLongPolls, reportLongPolls } from './long-polls.ts'
import type { LongPollMeasurement } from './long-polls.ts'
import { measureCpu, measureLatency, measureStart } from './measure.ts'
import type { Load, Measurement, ServerPair } from './measure.ts'
import { measureOpenStreams } from './open-streams.ts'
import { bareProgram, loadProgram, subjectProgram, upstreamProgram } from './programs.ts'
import { isTooSlow, report } from './report.ts'
import { measureRouting } from './routing.ts'
import { latencyLoad, scenarios } from './scenarios.ts'

const names = [...Object.keys(scenarios), 'billing', 'latency', 'start', 'open-streams', 'long-polls', 'routing']
/** Scenarios that need no running servers, or start their own. */
const startsServers: ReadonlySet<string> = new Set(['start', 'open-streams', 'routing'])
const usage = `npm run bench -- [${names.join('] [')}]
  --subject <name>  server to compare with the bare relay: tollgate (default), bare, or a file
  --rounds <n>      measured rounds, default 5
  --json            print the figures as JSON
  --check           exit with 1 if a figure exceeds its target`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    subject: { type: 'string', default: 'tollgate' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false }
  }
})
const unknown = positionals.find((name) => !names.includes(name))
const rounds = Number(values.rounds)

if (values.help) {
  console.log(usage)
} else if (unknown !== undefined || !(rounds >= 1)) {
  console.error(usage)
  process.exitCode = 2
} else {
  const selected = positionals.length > 0 ? positionals : names
  const compared = selected.filter((name) => name !== 'long-polls')
  const measurements = compared.length > 0 ? await measureAll(compared) : []
  const longPolls = selected.includes('long-polls') ? await measureAllLongPolls() : []
  if (values.json) console.log(JSON.stringify([...measurements, ...longPolls], null, 2))
  else {
    if (measurements.length > 0) console.log(report(measurements, values.subject))
    if (longPolls.length > 0) console.log(reportLongPolls(longPolls))
  }
  const isTooLarge = longPolls.some(({ extraKiB }) => extraKiB > maxLongPollKiB)
  if (values.check && (isTooLarge || measurements.some(isTooSlow))) process.exitCode = 1
}

async function measureAllLongPolls (): Promise<LongPollMeasurement[]> {
  await using workspace = await mkdtempDisposable(join(tmpdir(), 'bench-'))
  return await measureLongPolls(workspace.path)
}

async function measureAll (selected: readonly string[]): Promise<Measurement[]> {
  const routing = selected.includes('routing') ? measureRouting(rounds) : []
  if (selected.every((name) => name === 'routing')) return routing
  await using workspace = await mkdtempDisposable(join(tmpdir(), 'bench-'))
  await using upstream = await startServer(upstreamProgram)
  const programsFor = async (upstreamUrl: string) => ({
    bare: bareProgram(upstreamUrl),
    subject: await subjectProgram(values.subject, upstreamUrl, workspace.path)
  })
  const programs = () => programsFor(upstream.url)
  const running = selected.some((name) => !startsServers.has(name))
    ? await measureRunning(selected, upstream.url, await programs())
    : []
  const started = selected.includes('start') ? await measureStart(programs, rounds) : []
  const open = selected.includes('open-streams') ? [await measureOpenStreams(programsFor, rounds)] : []
  return [...running, ...started, ...open, ...routing]
}

async function measureRunning (
  selected: readonly string[], upstreamUrl: string, programs: ServerPair<Program>
): Promise<Measurement[]> {
  await using generator = startWorker<LoadOrder, LoadResult>(loadProgram)
  await using bare = await startServer(programs.bare)
  await using subject = await startServer(programs.subject)
  const load: Load = (order) => generator.run(order)
  const measurements: Measurement[] = []
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (!selected.includes(name)) continue
    measurements.push(await measureCpu({ bare, subject }, scenario, load, rounds))
  }
  if (selected.includes('billing')) measurements.push(await measureBilling({ bare, subject }, load, rounds))
  if (selected.includes('latency')) {
    measurements.push(await measureLatency({ bare, subject }, upstreamUrl, latencyLoad, load, rounds))
  }
  return measurements
}
