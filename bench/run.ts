import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureBilling } from './billing.ts'
import { startServer, startWorker } from './child.ts'
import type { Program } from './child.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { heldTargetKiB, measureHeld, reportHeld } from './held.ts'
import type { HeldMeasurement } from './held.ts'
import { measureCpu, measureLatency, measureStart } from './measure.ts'
import type { Load, Measurement, Pair } from './measure.ts'
import { bareProgram, loadProgram, subjectProgram, upstreamProgram } from './programs.ts'
import { isTooSlow, report } from './report.ts'
import { measureRouting } from './routing.ts'
import { latencyLoad, scenarios } from './scenarios.ts'

const names = [...Object.keys(scenarios), 'billing', 'latency', 'start', 'held', 'routing']
const usage = `npm run bench -- [${names.join('] [')}]
  --subject <name>  what to compare with the bare relay: tollgate (default), bare, or a server's file
  --rounds <n>      measured rounds of each kind, 5 unless told
  --json            print the figures as JSON
  --check           exit with 1 when a ratio is above its target`

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
  const chosen = positionals.length > 0 ? positionals : names
  const compared = chosen.filter((name) => name !== 'held')
  const measurements = compared.length > 0 ? await measureAll(compared) : []
  const held = chosen.includes('held') ? await measureAllHeld() : []
  if (values.json) console.log(JSON.stringify([...measurements, ...held], null, 2))
  else {
    if (measurements.length > 0) console.log(report(measurements, values.subject))
    if (held.length > 0) console.log(reportHeld(held))
  }
  const isTooLarge = held.some(({ extraKiB }) => extraKiB > heldTargetKiB)
  if (values.check && (isTooLarge || measurements.some(isTooSlow))) process.exitCode = 1
}

async function measureAllHeld (): Promise<HeldMeasurement[]> {
  await using workspace = await mkdtempDisposable(join(tmpdir(), 'bench-'))
  return await measureHeld(workspace.path)
}

async function measureAll (chosen: readonly string[]): Promise<Measurement[]> {
  const routing = chosen.includes('routing') ? measureRouting(rounds) : []
  if (chosen.every((name) => name === 'routing')) return routing
  await using workspace = await mkdtempDisposable(join(tmpdir(), 'bench-'))
  await using upstream = await startServer(upstreamProgram)
  const programs = async () => ({
    bare: bareProgram(upstream.url),
    subject: await subjectProgram(values.subject, upstream.url, workspace.path)
  })
  const running = chosen.some((name) => name !== 'start' && name !== 'routing')
    ? await measureRunning(chosen, upstream.url, await programs())
    : []
  return [...running, ...chosen.includes('start') ? await measureStart(programs, rounds) : [], ...routing]
}

async function measureRunning (
  chosen: readonly string[], upstreamUrl: string, programs: Pair<Program>
): Promise<Measurement[]> {
  await using generator = startWorker<LoadOrder, LoadResult>(loadProgram)
  await using bare = await startServer(programs.bare)
  await using subject = await startServer(programs.subject)
  const load: Load = (order) => generator.ask(order)
  const measurements: Measurement[] = []
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (!chosen.includes(name)) continue
    measurements.push(await measureCpu({ bare, subject }, scenario, load, rounds))
  }
  if (chosen.includes('billing')) measurements.push(await measureBilling({ bare, subject }, load, rounds))
  if (chosen.includes('latency')) {
    measurements.push(await measureLatency({ bare, subject }, upstreamUrl, latencyLoad, load, rounds))
  }
  return measurements
}
