import { parseArgs } from 'node:util'
import { createReport } from '../chaos/report.ts'
import { soak } from './soak.ts'

// Sends everything the gateway serves at a gateway whose provider fails three calls in ten, for 20 minutes
// unless told, and checks that nothing grows: memory, sockets, holds, timers.

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    concurrency: { type: 'string', default: '16' }
  }
})
const report = createReport()
process.stdout.write(`soak of ${values.seconds} s, seed ${values.seed}\n`)
const found = await soak({
  seconds: Number(values.seconds), seed: Number(values.seed), concurrency: Number(values.concurrency)
})
const { middleBytes, lastBytes, statuses, violations, before, after } = found
const mebi = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`
process.stdout.write(`${JSON.stringify(statuses)}\nheap and buffers in the middle third ${mebi(middleBytes)}, ` +
  `in the last ${mebi(lastBytes)}\n`)
report.check(lastBytes <= middleBytes * 1.05, 'memory does not grow by more than 5 %')
report.check(found.requests > 0 && (statuses['200'] ?? 0) > found.requests / 4, 'requests are answered')
report.check((statuses['500'] ?? 0) === 0, 'no request ends in a 500')
report.check(found.heldNano === 0, `nothing is held in the end, but ${found.heldNano}`)
report.check(found.connections <= 1, `no connection is left, but ${found.connections}`)
for (const [kind, count] of Object.entries(after)) {
  report.check(count <= (before[kind] ?? 0) + 2, `${kind}: ${before[kind] ?? 0} before, ${count} after`)
}
report.check(violations.length === 0, `the books add up: ${JSON.stringify(violations)}`)
report.close()
