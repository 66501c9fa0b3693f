import { parseArgs } from 'node:util'
import { runSchedule } from '../services/billing/ledger/schedule.ts'
import { openWithClock } from '../helpers/store-clock.ts'
import { startPostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'

// Runs many random schedules of nodes that crash, lose the database and have clocks that run unevenly, on
// each engine. On SQLite a seed repeats its schedule: --seed <n> --count 1.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    count: { type: 'string', default: '300' },
    steps: { type: 'string', default: '600' }
  }
})
const report = createReport()
process.stdout.write(`ledger-schedule, seed ${values.seed}\n`)
const count = Number(values.count)
await run('sqlite', async () => 'sqlite::memory:', count)

await using server = await startPostgresProcess()
// Fewer, because its statements take much longer and only a few lines of SQL differ.
await run('postgres', () => server.createSchema(), Math.ceil(count / 40))
report.close()

async function run (engine: string, url: () => Promise<string>, schedules: number): Promise<void> {
  const started = performance.now()
  const sums = { granted: 0, refused: 0, booked: 0, suspended: 0, lost: 0, crashes: 0, releasedTerms: 0 }
  for (let seed = Number(values.seed); seed < Number(values.seed) + schedules; seed++) {
    await using opened = new AsyncDisposableStack()
    const { faults, ...counts } = await runSchedule(async (clock) => {
      const store = await openWithClock(await url(), clock)
      opened.defer(() => store.close())
      return store
    }, seed, Number(values.steps))
    report.check(faults.length === 0, `${engine}, seed ${seed}: ${faults.join('; ')}`)
    for (const [name, value] of Object.entries(counts)) sums[name as keyof typeof sums] += value
  }
  const seconds = ((performance.now() - started) / 1_000).toFixed(0)
  process.stdout.write(`${engine}: ${schedules} schedules in ${seconds} s, ${JSON.stringify(sums)}\n`)
}
