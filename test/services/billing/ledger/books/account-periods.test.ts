import t from 'tap'
import { checkLedger } from '../../../../../services/billing/ledger/check/check-books.ts'
import { readMonth } from '../../../../../services/billing/ledger/books/months.ts'
import { forEachEngine } from '../../../../helpers/engines.ts'
import { createRandom } from '../random.ts'
import { bookSomething, openBooks } from './random-books.ts'

const at = (time: string) => Date.parse(time)
const seed = Number(process.env.SEED ?? Math.trunc(Math.random() * 2 ** 31))

t.test('a month is four digits, a hyphen and two digits', async t => {
  t.match(readMonth('2026-02'), { name: '2026-02', startsAt: at('2026-02-01'), endsAt: at('2026-03-01') })
  for (const wrong of ['2026-13', '2026-1', '26-10', '', '1969-12', '2026-10-01']) {
    t.throws(() => readMonth(wrong), { name: 'GatewayError', status: 400, param: 'month' }, wrong)
  }
})

forEachEngine(t, 'an entry counts from its time on, whenever it is booked', async (t, { open }) => {
  const books = await openBooks(await open())
  await books.deposit('org', 100, at('2026-08-31T23:59:59.999Z'))
  await books.transfer('org', 'team', 40, at('2026-09-01'))
  await books.spend('team org', 7, at('2026-09-30T12:00Z'))
  await books.deposit('other', 5, at('2026-10-02'))
  t.same(await books.balances(at('2026-09-01')), { org: 100, other: 0, team: 0 })
  t.same(await books.balances(at('2026-10-01')), { org: 93, other: 0, team: 33 })
  await books.spend('team org', 3, at('2026-09-30T23:00Z'))
  await books.adjust('org', -1, at('2026-08-15'))
  t.same(await books.balances(at('2026-09-01')), { org: 99, other: 0, team: 0 })
  t.same(await books.balances(at('2026-10-01')), { org: 89, other: 0, team: 30 })
})

forEachEngine(t, `balances are the sums of the entries before their time, seed ${seed}`, async (t, { open }) => {
  const store = await open()
  const books = await openBooks(store)
  const random = createRandom(seed)
  for (const account of ['org', 'team', 'other']) await books.deposit(account, 10_000, at('2026-01-01'))
  for (let step = 0; step < 150; step++) {
    await bookSomething(books, random, at('2026-01-01') + random.integer(0, 181 * 86_400_000))
    const day = at('2026-01-01') + random.integer(0, 190) * 86_400_000
    const moment = random.next() < 0.5 ? day : day + random.integer(0, 86_400_000)
    t.same(await books.balances(moment), await books.sumsOfEntries(moment), `step ${step}`)
  }
  t.same(await books.balances(store.clock()), await books.balancesOfAccounts())
  t.same(await checkLedger(store), [])
})
