import { createAccounts } from '../../../../../services/billing/ledger/accounts.ts'
import { sumPeriod } from '../../../../../services/billing/ledger/books/account-periods.ts'
import { createCorrections } from '../../../../../services/billing/ledger/corrections.ts'
import { createTransfers } from '../../../../../services/billing/ledger/transfers.ts'
import type { Store } from '../../../../../services/store/store.ts'
import type { Random } from '../random.ts'

/** Books with the accounts org ⊃ team and other, and one posting after another at chosen times. */
export async function openBooks (store: Store) {
  const accounts = createAccounts(store)
  await accounts.create({ id: 'org' })
  await accounts.create({ id: 'team', parent: 'org' })
  await accounts.create({ id: 'other' })
  await store.run("insert into chain (id, account) values ('team org', 'team'), ('team org', 'org'), ('other', 'other')")
  const [corrections, transfers] = [createCorrections(store), createTransfers(store)]
  let count = 0
  const id = () => `p${++count}`
  return {
    deposit: async (account: string, amountNano: number, at: number) =>
      await accounts.deposit({ id: id(), account, amountNano, at }),
    transfer: async (from: string, to: string, amountNano: number, at: number) =>
      await transfers.transfer({ id: id(), from, to, amountNano, at }),
    withdraw: async (account: string, amountNano: number, at: number) =>
      await transfers.withdraw({ id: id(), account, amountNano, at, reason: 'r' }),
    adjust: async (account: string, amountNano: number, at: number) =>
      await corrections.adjust({ id: id(), account, amountNano, at, reason: 'r' }),
    /** A charge, as a commit books it. */
    spend: async (chain: 'team org' | 'other', amountNano: number, at: number) => await store.transaction(async queries => {
      const [payer = ''] = chain.split(' ')
      await queries.run(`insert into entry (at, debit, credit, amount, kind, chain)
        values ($1, $2, 'revenue', $3, 'usage', $4)`, [at, payer, amountNano, chain])
      await queries.run('update account set spent = spent + $1 where id in (select account from chain where id = $2)',
        [amountNano, chain])
    }),
    async refund (at: number) {
      const usage = await store.get<{ seq: number }>(`
        select seq from entry as usage where kind = 'usage' and not exists (select 1 from entry where reverses = usage.seq)
        order by seq limit 1`)
      if (usage !== undefined) await corrections.refund({ id: id(), entry: `entry_${usage.seq}`, at })
    },
    async balances (at: number) {
      const sums = await sumPeriod(store, { from: at, to: at }, ['org', 'other', 'team'])
      const balances = Array.from(sums, ([account, { openingNano }]) => [account, openingNano])
      return Object.fromEntries(balances.toSorted())
    },
    /** What each account has come to before a time, by its movements and charges alone. */
    async sumsOfEntries (before: number) {
      const rows = await store.all<{ id: string, nano: number }>(`
        select account.id, cast(
          coalesce((select sum(amount) from movement where movement.account = account.id
            and entry in (select seq from entry where at < $1)), 0)
          - coalesce((select sum(case kind when 'usage' then amount else -amount end) from entry
            where kind in ('usage', 'refund') and at < $1
            and chain in (select id from chain where chain.account = account.id)), 0) as bigint) as nano
        from account where kind = 'account' and id in ('org', 'other', 'team') order by id`, [before])
      return Object.fromEntries(rows.map(({ id, nano }) => [id, nano]))
    },
    async balancesOfAccounts () {
      const rows = await store.all<{ id: string, balance: number }>(`
        select id, credits - spent as balance from account where id in ('org', 'other', 'team') order by id`)
      return Object.fromEntries(rows.map(({ id, balance }) => [id, balance]))
    },
    /** As `recordEntryBlocks` does, of fewer entries. */
    async recordBlock (size: number) {
      if (store.engine === 'sqlite') await store.run(recordBlock, [size])
    }
  }
}

const recordBlock = `
  insert into entry_block (first, last, earliest, latest)
  select min(seq), max(seq), min(at), max(at) from (
    select seq, at from entry where seq > coalesce((select max(last) from entry_block), 0) order by seq limit $1
  ) having count(*) > 0`

/** Books one of all kinds of postings, or does what a gateway does with entries from time to time. */
export async function bookSomething (
  books: Awaited<ReturnType<typeof openBooks>>, random: Random, time: number
): Promise<void> {
  const pick = <Item>(items: readonly Item[]): Item => items[random.integer(0, items.length - 1)] as Item
  const amount = random.integer(1, 50)
  await pick([
    () => books.deposit(pick(['org', 'team', 'other']), amount, time),
    () => books.transfer('org', 'team', amount, time),
    () => books.transfer('team', pick(['org', 'other']), amount, time),
    () => books.transfer('other', 'org', amount, time),
    () => books.withdraw(pick(['org', 'team', 'other']), amount, time),
    () => books.adjust(pick(['org', 'team', 'other']), pick([-amount, amount]), time),
    () => books.spend(pick(['team org', 'other']), amount, time),
    () => books.spend(pick(['team org', 'other']), amount, time),
    () => books.refund(time),
    () => books.recordBlock(random.integer(1, 20))
  ])()
}
