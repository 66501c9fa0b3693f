import t from 'tap'
import { listEntries, type EntryRequest } from '../../../../services/operations/admin/entries.ts'
import { getAccount } from '../../../../services/operations/admin/accounts.ts'
import { allPages } from '../../../../services/operations/admin/page.ts'
import { listStatements } from '../../../../services/operations/admin/statements.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { bookSomething, openBooks } from '../../billing/ledger/books/random-books.ts'
import { createRandom } from '../../billing/ledger/random.ts'
import { openAdministration } from './helper.ts'

const accounts = ['org', 'other', 'team']
const months = ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05']
const lines = {
  deposits: 'deposit', withdrawals: 'withdraw', adjustments: 'adjust', usage: 'usage', refunds: 'refund', transfers: 'transfer'
} as const
const seed = Number(process.env.SEED ?? Math.trunc(Math.random() * 2 ** 31))

forEachEngine(t, `figures are the sums of the entries that they lead to, seed ${seed}`, async (t, { open }) => {
  const store = await open()
  const admin = await openAdministration(t, store)
  const books = await openBooks(store)
  await store.run('update account set created_at = 0')
  const random = createRandom(seed)
  const start = Date.parse('2026-01-01')
  for (const account of accounts) await books.deposit(account, 10_000, start)
  for (let step = 0; step < 120; step++) {
    await bookSomething(books, random, start + random.integer(0, 150 * 86_400_000))
  }

  async function sumOf (account: string, filter: EntryRequest): Promise<number> {
    let sum = 0
    const read = (page: EntryRequest) => listEntries(admin, { ...filter, account, ...page, limit: 7 })
    for await (const entries of allPages(read)) {
      for (const { change_nano: nano } of entries) sum += nano ?? NaN
    }
    return sum
  }

  for (const account of accounts) {
    const { balance_nano: balance } = await getAccount(admin, account)
    t.equal(await sumOf(account, {}), balance, `the balance of ${account}`)
  }
  for (const month of months) {
    const { data } = await listStatements(admin, { month })
    t.same(data.map(({ account }) => account), accounts)
    for (const { account, opening_nano: opening, closing_nano: closing, movements } of data) {
      t.equal(await sumOf(account, { month }), closing - opening, `${account} in ${month}`)
      for (const [line, kind] of Object.entries(lines)) {
        const shown = line === 'transfers'
          ? movements.transfers_in.amount_nano + movements.transfers_out.amount_nano
          : movements[line as Exclude<keyof typeof lines, 'transfers'>].amount_nano
        t.equal(await sumOf(account, { month, kind }), shown, `${line} of ${account} in ${month}`)
      }
    }
  }
  const { data: [entry] } = await listEntries(admin, { limit: 1 })
  t.match(entry, { change_usd: null, change_nano: null }, 'without an account, nothing is added or taken away')
})
