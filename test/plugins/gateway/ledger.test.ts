import { join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import type { Test } from 'tap'
import * as gateway from '../../../plugins/gateway/index.ts'
import * as library from '../../../plugins/library/index.ts'
import { registerAll, withOptions } from '../../../plugins/register-all.ts'
import { openSqlite } from '../../../services/store/sqlite.ts'
import { temporaryFolder } from '../../helpers/process.ts'
import { createBooks, posting, reservation, rowOf } from '../../services/billing/ledger/helper.ts'
import { until } from '../../helpers/until.ts'

interface Line { msg: string, violation?: object }

interface Options {
  checkEveryMs?: number
  requests?: { deadlineMs: number, streamMs: number }
  takeoverMs?: number
}

/** A server with a ledger on a file, and the first line that its log writes about the books. */
async function build (t: Test, options: Options = {}) {
  const path = join(await temporaryFolder(t), 'tollgate.db')
  const { promise: line, resolve } = Promise.withResolvers<Line>()
  const stream = {
    write (text: string) {
      const line: Line = JSON.parse(text)
      if (/books/.test(line.msg)) resolve(line)
    }
  }
  const app = Fastify({ logger: { level: 'warn', stream } })
  t.teardown(() => app.close())
  await registerAll(app, [
    withOptions(gateway.accounts, {}),
    withOptions(gateway.extensions, { plugins: [] }),
    withOptions(library.auth, {}),
    withOptions(library.cors, { origins: [] }),
    withOptions(gateway.errors, {}),
    withOptions(gateway.gracefulClose, { limitMs: 1_000 }),
    withOptions(gateway.httpRules, {}),
    withOptions(gateway.ledger, { requests: { deadlineMs: 600_000, streamMs: 600_000 }, ...options }),
    withOptions(library.metrics, {}),
    withOptions(gateway.requestSummary, {}),
    withOptions(gateway.sessions, { publicBaseUrl: null }),
    withOptions(gateway.store, { url: `sqlite:${path}` }),
    withOptions(gateway.requestRecord, {})
  ])
  // The timers of the ledger alone do not keep a process alive.
  await app.listen({ host: '127.0.0.1', port: 0 })
  await createBooks(app.store, { acme: 1_000 })
  return { app, path, line }
}

t.test('closing the server writes what was settled and gives back what was held', async (t) => {
  const { app, path } = await build(t)
  const hold = await app.ledger.reserve(reservation(600))
  await app.ledger.reserve(reservation(300))
  hold.settle(posting(500))
  await app.close()
  const after = await openSqlite(path)
  t.teardown(() => after.close())
  t.match(await rowOf(after), { spent: 500, held: 0 })
})

t.test('others wait for the requests and streams of a node as long as the configuration lets them run', async (t) => {
  const minuteMs = 60_000
  const requests = { deadlineMs: 10 * minuteMs, streamMs: 30 * minuteMs }
  const { app } = await build(t, { requests, takeoverMs: 25 })
  await app.ledger.balance('acme')
  const shownMs = async () => (await app.store.get<{ ms: number }>('select request_ms as ms from node'))?.ms
  t.equal(await shownMs(), 32 * minuteMs)
  app.ledger.allowRequests(62 * minuteMs)
  app.ledger.allowRequests(42 * minuteMs)
  await until(async () => await shownMs() === 62 * minuteMs)
  t.pass('the next heartbeat shows the longest time')
})

t.test('books that do not add up are told to the operator and left as they are', async (t) => {
  const { app, line } = await build(t, { checkEveryMs: 10 })
  await app.store.run("update account set credits = credits + 5 where id = 'acme'")
  t.match(await line, {
    msg: 'the books do not add up',
    advice: /tollgate credits adjust/,
    violation: { rule: 'credits are the movements of entries', subject: 'acme', expected: 1_000, found: 1_005 }
  })
  t.ok(app.ledgerViolations() > 0)
  t.match(await rowOf(app.store), { credits: 1_005 })
})
