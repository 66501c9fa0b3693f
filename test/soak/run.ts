import { parseArgs } from 'node:util'
import { createReport } from '../chaos/report.ts'
import { soak } from './soak.ts'

// Sends everything the gateway serves at a gateway whose provider fails three calls in ten, for 20 minutes
// unless told, and checks that nothing grows: memory, sockets, holds, slots, timers.

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    concurrency: { type: 'string', default: '48' },
    rate: { type: 'string', default: '150' }
  }
})
const report = createReport()
process.stdout.write(`soak of ${values.seconds} s, seed ${values.seed}\n`)
const found = await soak({
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  concurrency: Number(values.concurrency),
  rate: Number(values.rate)
})
const { statuses, violations, before, after } = found
process.stdout.write(`${JSON.stringify(statuses)}\n`)
checkFlat('heap and buffers', found.heap)
// What the engine keeps depends on how busy it was lately; a leak outside of the heap shows all the same.
checkFlat('memory of the process', found.resident, 1.25)
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

/** Compares the medians of the middle and the last third of the time. */
function checkFlat (what: string, samples: readonly number[], most = 1.05): void {
  const third = samples.length / 3
  const [middle, last] = [samples.slice(third, 2 * third), samples.slice(2 * third)].map(median)
  const [from, to] = [middle, last].map((bytes = NaN) => `${(bytes / 1024 ** 2).toFixed(1)} MiB`)
  process.stdout.write(`${what} in the middle third ${from}, in the last ${to}\n`)
  report.check((last ?? NaN) <= (middle ?? NaN) * most, `${what}: no more than ${most} times`)
}

function median (values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}
