import t from 'tap'
import { startPostgresClock } from '../../../services/store/postgres-clock.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { createLog } from '../billing/ledger/helper.ts'
import { createTime } from '../billing/ledger/simulation.ts'

/** A server whose clock is `aheadMs` ahead of the machine's and answers after `delayMs`. */
async function start (server: { aheadMs: number, delayMs: number, isAway?: boolean }) {
  let nowMs = 0
  const time = createTime()
  const { timers, monotonic } = time.clocksOf({})
  const log = createLog()
  const machine = () => 1_000_000 + monotonic() + nowMs
  const clock = await startPostgresClock({
    readServerMs: async () => {
      if (server.isAway === true) throw new StoreUnavailable(new Error('away'))
      nowMs += server.delayMs / 2
      const answer = Math.floor(machine() + server.aheadMs)
      nowMs += server.delayMs / 2
      return answer
    },
    log,
    machine,
    monotonic: () => monotonic() + nowMs,
    timers
  })
  t.teardown(() => clock.stop())
  return { time, log, aheadMs: () => clock.read() - machine() }
}

t.test('the clock of the server goes on between measurements, and errs by half of a round trip', async (t) => {
  const server = { aheadMs: -660_000, delayMs: 0 }
  const { time, aheadMs } = await start(server)
  t.equal(aheadMs(), -660_000)
  await time.advance(7_000)
  t.equal(aheadMs(), -660_000)
  server.delayMs = 100
  await time.advance(4_000)
  t.equal(aheadMs(), -660_000, 'both ways took as long')
})

t.test('a server whose clock is set, or another one that takes over, is followed within ten seconds', async (t) => {
  const server = { aheadMs: 0, delayMs: 2, isAway: false }
  const { time, log, aheadMs } = await start(server)
  t.same(log.lines, [])
  server.isAway = true
  await time.advance(60_000)
  t.equal(aheadMs(), 0, 'the last measurement holds')
  Object.assign(server, { isAway: false, aheadMs: 90_000 })
  await time.advance(10_000)
  t.equal(aheadMs(), 90_000)
  await time.advance(30_000)
  t.match(log.lines, [{ level: 'warn', details: { differenceMs: -90_000 }, message: /differs from that of the database/ }])
})
