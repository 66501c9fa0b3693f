import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createReport } from '../../chaos/report.ts'
import { fuzz, type Found } from './fuzz.ts'

// Sends requests over sockets that no client should send, and lets providers answer as none should.
// Fails on what `docs/reliability.md` lists. `--only 12345` sends one request again and prints the answer.

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seconds: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    engine: { type: 'string', default: 'both' },
    connections: { type: 'string', default: '48' },
    root: { type: 'string', default: join(import.meta.dirname, '../../..') },
    only: { type: 'string' },
    /** Ends with the first thing found. */
    first: { type: 'boolean', default: false }
  }
})

const report = createReport()
for (const engine of ['sqlite', 'postgres'] as const) {
  if (values.engine !== 'both' && values.engine !== engine) continue
  const found = await fuzz({
    engine,
    seed: Number(values.seed),
    requests: Number(values.requests),
    seconds: values.seconds === undefined ? Infinity : Number(values.seconds),
    connections: Number(values.connections),
    root: values.root,
    only: values.only === undefined ? null : Number(values.only),
    until: values.first ? /./ : null,
    print: line => process.stdout.write(`${line}\n`)
  })
  print(engine, found)
}
report.close()

function print (engine: string, found: Found): void {
  const { sent, calls, statuses, kinds, problems, longestMs, memory, seconds } = found
  process.stdout.write(`${engine}: ${sent} requests in ${Math.round(seconds)} s, ${calls} calls of the provider, seed ${values.seed}\n`)
  process.stdout.write(`statuses ${JSON.stringify(statuses)}\nmodels ${JSON.stringify(kinds)}\n`)
  process.stdout.write(`longest turn of one request ${longestMs.toFixed(0)} ms; MiB in use ${memory.map(bytes => (bytes / 1024 ** 2).toFixed(0)).join(' ')}\n`)
  report.check(sent > 0, 'requests were sent')
  for (const problem of problems) report.check(false, problem)
}
