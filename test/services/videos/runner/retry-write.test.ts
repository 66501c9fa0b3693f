import t from 'tap'
import { StoreUnavailable } from '../../../../services/store/store.ts'
import { retryWrite } from '../../../../services/videos/runner/retry-write.ts'
import { createLog } from '../../billing/ledger/helper.ts'

const away = new StoreUnavailable(new Error('away'))

function createTest (failures: readonly Error[]) {
  const log = createLog()
  const closing = new AbortController()
  const left = [...failures]
  let writes = 0
  const write = async () => {
    writes++
    const error = left.shift()
    if (error !== undefined) throw error
    return 'written'
  }
  return {
    log,
    closing,
    get writes () { return writes },
    retry: async () => await retryWrite({ log, closing: closing.signal }, 'job_1', write)
  }
}

t.test('a write is repeated until the database accepts it, and each failure is logged', async t => {
  const test = createTest([away, away])
  const startedMs = performance.now()
  t.equal(await test.retry(), 'written')
  t.equal(test.writes, 3)
  t.ok(performance.now() - startedMs >= 148, 'after 50 ms, then 100 ms')
  t.match(test.log.lines, [{ level: 'warn', details: { job: 'job_1' } }, { level: 'warn' }])
})

t.test('what is no outage is thrown at once', async t => {
  const wrong = new Error('rejected')
  const test = createTest([wrong])
  await t.rejects(test.retry(), wrong)
  t.equal(test.writes, 1)
})

t.test('a node that closes gives up', async t => {
  const test = createTest([away, away, away])
  test.closing.abort()
  await t.rejects(test.retry(), away)
  t.equal(test.writes, 1)
})
