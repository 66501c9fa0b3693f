import { parseArgs } from 'node:util'
import { createReport } from '../chaos/report.ts'
import { soak } from './soak.ts'

// Sends every kind of request to a gateway whose provider fails three calls in ten, for 20 minutes by default
// or for some `--hours`, and checks that nothing grows: memory, sockets, handles, holds, slots, timers, the
// write-ahead log, the log of requests, media. Prints the curve.

// As in deploy/Dockerfile; the C library reads it only when a process starts.
if (process.platform === 'linux' && process.env.MALLOC_ARENA_MAX === undefined) {
  const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve?.(process.execPath, args, { ...process.env, MALLOC_ARENA_MAX: '2' })
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1200' },
    hours: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    concurrency: { type: 'string', default: '48' },
    rate: { type: 'string', default: '150' }
  }
})
const mebi = 1024 ** 2
const report = createReport()
const seconds = values.hours === undefined ? Number(values.seconds) : Number(values.hours) * 3600
process.stdout.write(`soak of ${seconds} s, seed ${values.seed}\n`)
const found = await soak({
  seconds,
  seed: Number(values.seed),
  concurrency: Number(values.concurrency),
  rate: Number(values.rate)
})
const { statuses, violations, before, after } = found
process.stdout.write(`${JSON.stringify(statuses)}\n`)
checkFlat('heap and buffers', found.heap)
checkFlat('memory of the process', found.resident)
// Not checked: the heap reserve of V8 depends on the recent load of the machine.
const { middle, last } = thirdsOf(found.atWork)
process.stdout.write(`memory of the process at work in the middle third ${toMiB(middle)}, in the last ${toMiB(last)}\n`)
printCurve()
checkKept('open files and sockets', found.disk.map(({ handles }) => handles), 10)
checkKept('write-ahead log in MiB', found.disk.map(({ walBytes }) => walBytes / mebi), 1)
// The gateway removes what is old once a minute.
if (seconds >= 1200) {
  checkKept('rows of the log of requests', found.disk.map(({ logRows }) => logRows), 100)
  checkKept('images and videos', found.disk.map(({ mediaFiles }) => mediaFiles), 10)
}
report.check(found.requests > 0 && (statuses['200'] ?? 0) > found.requests / 4, 'requests are answered')
report.check((statuses['500'] ?? 0) === 0, 'no request ends in a 500')
report.check(found.heldNano === 0, `nothing is held in the end, but ${found.heldNano}`)
report.check(found.connections <= 1, `no connection is left, but ${found.connections}`)
for (const [kind, count] of Object.entries(found.left)) report.check(count === 0, `${kind}: ${count} left`)
for (const [kind, count] of Object.entries(after)) {
  report.check(count <= (before[kind] ?? 0) + 2, `${kind}: ${before[kind] ?? 0} before, ${count} after`)
}
report.check(violations.length === 0, `the books add up: ${JSON.stringify(violations)}`)
report.close()

/** Allows the median of the last third to be 5 % above that of the middle third. */
function checkFlat (what: string, samples: readonly number[]): void {
  const { middle, last } = thirdsOf(samples)
  process.stdout.write(`${what} in the middle third ${toMiB(middle)}, in the last ${toMiB(last)}\n`)
  report.check(last <= middle * 1.05, `${what}: no more than 5 % above`)
}

/** Allows the median of the last third to be a quarter and `slack` above that of the middle third. */
function checkKept (what: string, samples: readonly number[], slack: number): void {
  const { middle, last } = thirdsOf(samples)
  process.stdout.write(`${what} in the middle third ${round(middle)}, in the last ${round(last)}\n`)
  report.check(!(last > middle * 1.25 + slack), `${what}: no growth`)
}

/** Some thirteen lines of a table. */
function printCurve (): void {
  const heads = ['minute', 'requests', 'heap MiB', 'process MiB', 'at work MiB', 'handles', 'WAL MiB', 'log rows',
    'media', 'database MiB']
  process.stdout.write(`| ${heads.join(' | ')} |\n|${'---|'.repeat(heads.length)}\n`)
  const step = Math.max(1, Math.floor(found.disk.length / 12))
  for (let at = 0; at < found.disk.length; at += step) {
    const { atMs, requests, handles, walBytes, logRows, mediaFiles, databaseBytes } = found.disk[at]!
    const memory = [found.heap, found.resident, found.atWork].map(samples => (samples[at] ?? NaN) / mebi)
    const kept = [handles, walBytes / mebi, logRows, mediaFiles, databaseBytes / mebi]
    const cells = [atMs / 60_000, requests, ...memory, ...kept]
    process.stdout.write(`| ${cells.map(round).join(' | ')} |\n`)
  }
}

function round (value: number): string {
  return String(Math.round(value * 10) / 10)
}

/** The medians of the middle and the last third. */
function thirdsOf (samples: readonly number[]): { middle: number, last: number } {
  const third = samples.length / 3
  return { middle: median(samples.slice(third, 2 * third)), last: median(samples.slice(2 * third)) }
}

function median (values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}

function toMiB (bytes: number): string {
  return `${(bytes / mebi).toFixed(1)} MiB`
}
