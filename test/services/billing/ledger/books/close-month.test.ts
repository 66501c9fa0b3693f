import t from 'tap'
import { closeMonth } from '../../../../../services/billing/ledger/books/close-month.ts'
import { monthAt, readClosedMonths, readMonth } from '../../../../../services/billing/ledger/books/months.ts'
import { checkBooks, checkLedger } from '../../../../../services/billing/ledger/check/check-books.ts'
import { createDatabase, forEachEngine } from '../../../../engines.ts'
import { createRandom } from '../random.ts'
import { bookSomething, openBooks } from './random-books.ts'

const refusal = (status: number, code: string) => ({ name: 'GatewayError', status, code })
const at = (time: string) => Date.parse(time)

forEachEngine(t, 'what comes after a month was closed counts in the next one, whatever its date', async (t, { open }) => {
  const store = await open()
  const books = await openBooks(store)
  await books.deposit('org', 100, at('2026-08-31T23:59:59.999Z'))
  await books.transfer('org', 'team', 40, at('2026-09-01'))
  await books.spend('team org', 7, at('2026-09-30T12:00Z'))
  await books.deposit('other', 5, at('2026-10-02'))
  t.same(await books.balances(at('2026-09-01')), { org: 100, other: 0, team: 0 })
  const { month, isNew } = await closeMonth(store, '2026-09')
  t.match([month, isNew], [{ name: '2026-09', endsAt: at('2026-10-01'), actor: 'gateway' }, true])
  t.same(await books.balances(at('2026-10-01')), { org: 93, other: 0, team: 33 })

  await books.spend('team org', 3, at('2026-09-30T23:00Z'))
  await books.adjust('org', -1, at('2026-08-15'))
  t.same(await books.balances(at('2026-10-01')), { org: 93, other: 0, team: 33 }, 'the month stays')
  t.same(await books.balances(at('2026-09-15')), { org: 100, other: 0, team: 40 }, 'and each day of it')
  t.same(await books.balances(at('2026-10-01T00:00:00.001Z')), { org: 89, other: 0, team: 30 })
  t.same(await books.balances(at('2026-11-01')), { org: 89, other: 5, team: 30 }, 'with what was booked early')

  await closeMonth(store, '2026-10')
  t.same(await books.balances(at('2026-10-01')), { org: 93, other: 0, team: 33 })
  t.same(await books.balances(at('2026-11-01')), { org: 89, other: 5, team: 30 })
  t.same(await checkLedger(store), [])
})

forEachEngine(t, 'a month is closed once, and only when it is over', async (t, { open }) => {
  const store = await open()
  const books = await openBooks(store)
  await books.deposit('org', 100, at('2026-09-05'))
  await t.rejects(closeMonth(store, monthAt(store.clock()).name), refusal(409, 'month_not_over'))
  for (const wrong of ['2026-13', '2026-1', '26-10', '', '1969-12', '2026-10-01']) {
    await t.rejects(closeMonth(store, wrong), { name: 'GatewayError', status: 400, param: 'month' }, wrong)
  }
  const closings = await Promise.all(Array.from({ length: 4 }, () => closeMonth(store, '2026-10')))
  t.same(closings.map(({ isNew }) => isNew).sort(), [false, false, false, true])
  t.equal(new Set(closings.map(({ month }) => month.closing)).size, 1)
  await t.rejects(closeMonth(store, '2026-09'), refusal(409, 'month_closed'), 'it is part of what was closed')
  t.equal((await readClosedMonths(store.reports)).length, 1)
  t.same(await store.all("select action, target from audit where action = 'books.close'"), [
    { action: 'books.close', target: 'books:2026-10' }
  ])
  for (const table of ['closed_month', 'closing_sum']) {
    await t.rejects(store.run(`delete from ${table}`), { message: /append-only/ })
    await t.rejects(store.run(`update ${table} set closing = 'x'`), { message: /append-only/ })
  }
})

forEachEngine(t, 'a closed month that differs from its entries is found', async (t, { open, engine }) => {
  const store = await open()
  const books = await openBooks(store)
  await books.deposit('org', 100, at('2026-09-05'))
  await closeMonth(store, '2026-09')
  t.same(await books.violations(), [])
  await store.run(engine === 'sqlite' ? 'drop trigger closing_sum_no_update' : 'drop trigger closing_sum_no_change on closing_sum')
  await store.run('update closing_sum set amount = amount + 1')
  const violation = { rule: 'a closed month has the sums of its entries', subject: '2026-09 org', expected: 100, found: 101 }
  t.same(await checkLedger(store), [violation])
  t.same((await checkBooks(store, { scope: 'all' })).violations, [violation])
})

forEachEngine(t, 'closed months are checked in turn, also when only new entries are read', async (t, { open, engine }) => {
  let nowMs = at('2026-12-01')
  const store = await open(() => nowMs)
  const books = await openBooks(store)
  const months = ['2026-08', '2026-09', '2026-10']
  for (const month of months) {
    await books.deposit('team', 100, at(`${month}-05`))
    await books.spend('team org', 1, at(`${month}-06`))
    await closeMonth(store, month)
  }
  const hourMs = 3_600_000
  async function check () {
    nowMs += 2 * hourMs
    const { scope, violations } = await checkBooks(store)
    return { scope, found: violations.map(({ rule, subject }) => `${rule}: ${subject}`) }
  }
  await check()
  t.same(await check(), { scope: 'new', found: [] })
  const forbidding = engine === 'sqlite'
    ? ['drop trigger closing_sum_no_update', 'drop trigger entry_no_update']
    : ['drop trigger closing_sum_no_change on closing_sum', 'drop trigger entry_no_change on entry']
  for (const sql of forbidding) await store.run(sql)

  const [damaged] = await readClosedMonths(store.reports)
  const change = "update closing_sum set amount = amount + $1 where account = 'team' and closing = $2"
  await store.run(change, [1, damaged?.closing ?? ''])
  const checks = []
  for (let turn = 0; turn < months.length; turn++) checks.push(await check())
  const broken = { scope: 'all', found: ['a closed month has the sums of its entries: 2026-08 team'] }
  const finding = checks.filter(({ found }) => found.length > 0)
  t.ok(finding.length > 0)
  for (const one of finding) t.same(one, broken)
  await store.run(change, [-1, damaged?.closing ?? ''])

  // In the part of the books that was checked before.
  await store.run("update entry set amount = 2 where kind = 'usage' and at = $1", [at('2026-09-06')])
  const later = []
  for (let turn = 0; turn < months.length; turn++) later.push(...(await check()).found)
  t.ok(later.includes('a closed month has the sums of its entries: 2026-09 team'), 'entries that were changed')
})

t.test('on Postgres, a closed month has no entry that becomes visible later', async t => {
  const store = await (await createDatabase(t, 'postgres')).open()
  const books = await openBooks(store)
  await books.deposit('org', 100, at('2026-09-05'))
  const goOn = Promise.withResolvers<void>()
  const isBooked = Promise.withResolvers<void>()
  const late = store.transaction(async queries => {
    // On a busy machine this takes longer than a connection may idle.
    await queries.run('set local idle_in_transaction_session_timeout = 0')
    const { seq } = await queries.get<{ seq: number }>(`insert into entry (idempotency_key, at, debit, credit, amount, kind)
      values ('late', ${at('2026-09-06')}, 'funding', 'other', 5, 'deposit') returning seq`) ?? { seq: 0 }
    await queries.run('insert into movement (entry, account, amount) values ($1, $2, 5)', [seq, 'other'])
    await queries.run("update account set credits = credits + 5 where id = 'other'")
    isBooked.resolve()
    await goOn.promise
  })
  await isBooked.promise
  await books.deposit('org', 1, at('2026-09-07'))
  const closing = closeMonth(store, '2026-09')
  setTimeout(() => goOn.resolve(), 300)
  await closing
  await late
  t.same(await books.balances(at('2026-10-01')), { org: 101, other: 5, team: 0 })
  t.same(await books.violations(), [])
})

const seed = Number(process.env.SEED ?? Math.trunc(Math.random() * 2 ** 31))

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`statements agree with each other and with the accounts, seed ${seed} (${engine})`, async t => {
    const store = await (await createDatabase(t, engine)).open()
    const books = await openBooks(store)
    const random = createRandom(seed)
    const months = ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05', '2026-06'].map(readMonth)
    for (const account of ['org', 'team', 'other']) await books.deposit(account, 10_000, at('2026-01-01'))
    const frozen = new Map<number, object>()
    let next = 0
    for (let step = 0; step < 150; step++) {
      const time = at('2026-01-01') + random.integer(0, 181 * 86_400_000)
      await bookSomething(books, random, time)
      const day = at('2026-01-01') + random.integer(0, 190) * 86_400_000
      const moment = random.next() < 0.5 ? day : day + random.integer(0, 86_400_000)
      const { days, entries } = await books.bothSums(moment)
      t.same(days, entries, `step ${step}`)
      const month = months[next]
      if (step % 25 !== 24 || month === undefined) continue
      // Some months are closed together with the next one.
      if (random.next() < 0.7) await closeMonth(store, month.name)
      next++
      for (const closed of await readClosedMonths(store.reports)) {
        const balances = await books.balances(closed.endsAt)
        const middle = await books.balances(closed.endsAt - 10 * 86_400_000)
        const seen = frozen.get(closed.endsAt)
        if (seen !== undefined) t.same({ balances, middle }, seen, `${closed.name} stays`)
        frozen.set(closed.endsAt, { balances, middle })
      }
    }
    const rows = await store.all<{ id: string, balance: number }>(
      "select id, credits - spent as balance from account where kind = 'account' order by id")
    const expected = Object.fromEntries(rows.map(({ id, balance }) => [id, balance]))
    t.same(await books.balances(store.clock()), expected)
    t.same(await checkLedger(store), [])
  })
}
