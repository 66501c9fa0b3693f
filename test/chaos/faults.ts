import { parseArgs } from 'node:util'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { answerNano, deployedAt, failAtRandom, sendMany } from '../helpers/faults.ts'
import { startGateway } from '../helpers/gateway.ts'
import { createRandom } from '../services/billing/ledger/random.ts'
import { startUpstream } from '../servers/upstream.ts'
import { createReport } from './report.ts'

// Sends many requests through a gateway whose only provider fails three calls in ten, in every way of the
// scripted upstream, and compares the books with the answers that arrived.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    count: { type: 'string', default: '20000' },
    concurrency: { type: 'string', default: '32' }
  }
})
/** One in four hundred is silent at both deployments; a call that ran out of time is not repeated. */
const least = 0.995
const deadlineMs = 60_000
const slackMs = 250

const report = createReport()
process.stdout.write(`faults, seed ${values.seed}\n`)
const ends: (() => unknown)[] = []
const upstream = await startUpstream()
failAtRandom(upstream, createRandom(Number(values.seed)), true)
const config = deployedAt([upstream.url, upstream.url])
config.requests = { ...config.requests!, deadlineMs }
const gateway = await startGateway({ teardown: work => ends.push(work) },
  { config, env: { TOLLGATE_STARTING_CREDIT: '1000' } })

const count = Number(values.count)
const startedMs = performance.now()
const sent = await sendMany(gateway, count, Number(values.concurrency))
const good = sent.filter(({ status }) => status === 200)
const slowestMs = Math.max(...sent.map(({ totalMs }) => totalMs))
const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
process.stdout.write(`${good.length} of ${count} succeeded with ${upstream.requests.length} calls in ${seconds} s, ` +
  `the slowest in ${slowestMs.toFixed(0)} ms\n`)
const bad = sent.filter(({ status }) => status !== 200).map(({ status, attempts }) => `${status} after ${attempts} calls`)
if (bad.length > 0) process.stdout.write(`not answered: ${bad.slice(0, 20).join(', ')}\n`)
report.check(good.length >= least * count, `${good.length} of ${count} succeed`)
report.check(slowestMs <= deadlineMs + slackMs, `the slowest took ${slowestMs} ms`)

await gateway.app.ledger.flush()
const entries = await gateway.app.store.all<{ ref: string, amount: number }>(
  "select ref, amount from entry where kind = 'usage'")
const answered = new Set(good.map(({ id }) => id))
report.check(entries.length === good.length && entries.every(({ ref }) => answered.delete(ref)),
  `${entries.length} entries for ${good.length} answers`)
report.check(entries.every(({ amount }) => amount === answerNano), 'each answer costs what it used')
const violations = await checkLedger(gateway.app.store)
report.check(violations.length === 0, `the books add up: ${JSON.stringify(violations)}`)
report.close()
for (const end of ends) await end()
await upstream.close().catch(() => {})
