import { parseArgs } from 'node:util'
import { createRandom } from '../services/billing/ledger/random.ts'
import { sendUnfairLoad } from './failover-load.ts'
import { createReport } from './report.ts'

// Clients share a gateway with one whose prompts make every server fail, while one provider fails three calls
// in ten and another one becomes slow.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    requests: { type: 'string', default: '400' },
    clients: { type: 'string', default: '10' }
  }
})
const least = 0.999

process.stdout.write(`failover, seed ${values.seed}\n`)
const report = createReport()
const ends: (() => unknown)[] = []
const clients = Number(values.clients)
const outcome = await sendUnfairLoad({ teardown: work => ends.unshift(work) },
  { random: createRandom(Number(values.seed)), requests: Number(values.requests), clients })
const count = clients * Number(values.requests)
const good = outcome.good.get(200) ?? 0
process.stdout.write(`${good} of ${count} succeeded; ${JSON.stringify({
  good: [...outcome.good], poison: [...outcome.poison], calls: outcome.calls, states: outcome.states
})}\n`)
for (const failure of outcome.failures) process.stdout.write(`${JSON.stringify(failure)}\n`)
report.check(good >= least * count, `${good} of ${count} succeed`)
report.check(!outcome.good.has(503), 'no client gets a 503 for the prompts of another one')
report.check(!outcome.poison.has(200), 'the poisonous prompts fail')
report.check(outcome.calls.slow < outcome.calls.flaky, 'the slow provider is left for the other one')
report.close()
for (const end of ends) await end()
