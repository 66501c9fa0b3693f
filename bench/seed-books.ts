import { createAccounts } from '../services/billing/ledger/accounts.ts'
import { recordEntryBlocks } from '../services/billing/ledger/sql/entry-blocks.ts'
import { rollUpUsage } from '../services/operations/reports/roll-up.ts'
import type { Store } from '../services/store/store.ts'

export interface SeedOptions {
  entries: number
  /** Named `team-0`, `team-1`, …, each with a key; their entries are spread over `days`. */
  accounts: number
  days?: number
  /** The same seed makes the same entries. */
  seed: number
  /** Sums the entries up for the reports, as the gateway does over time. */
  rollUp?: boolean
}

const dayMs = 86_400_000
const entriesAtOnce = 100_000
/** As many entries as `recordEntryBlocks` records in one call, or less. */
const blocksAtOnce = 400_000
const models = 8
const creditsNano = 1e13

/** Fills a database with accounts and usage, as if requests had been made; the books add up. */
export async function seedBooks (
  store: Store, { entries, accounts, days = 90, seed, rollUp = true }: SeedOptions
): Promise<void> {
  await seedAccounts(store, accounts)
  const { base } = await store.get<{ base: number }>('select max(seq) as base from entry') ?? { base: 0 }
  const toMs = Date.now()
  const shared = [seed, accounts, toMs - days * dayMs, days * dayMs / entries]
  for (let from = 0; from < entries; from += entriesAtOnce) {
    const last = Math.min(from + entriesAtOnce, entries) - 1
    await store.run(insertEntries(store.engine), [from, last, ...shared])
  }
  await store.run(`
    update account set spent = spent + used.nano from (
      select debit, cast(sum(amount) as bigint) as nano
      from entry where seq > $1 group by debit
    ) as used where account.id = used.debit`, [base])
  if (store.engine === 'postgres') await store.run('analyze')
  for (let recorded = 0; recorded < entries; recorded += blocksAtOnce) await recordEntryBlocks(store)
  if (rollUp) await rollUpUsage(store, { chunk: entriesAtOnce })
}

async function seedAccounts (store: Store, count: number): Promise<void> {
  const accounts = createAccounts(store)
  for (let index = 0; index < count; index++) {
    const id = `team-${index}`
    await accounts.create({ id })
    await accounts.deposit({ id: `seed-${index}`, account: id, amountNano: creditsNano })
  }
  await store.run(`
    insert into chain (id, account) select id, id from account where id like 'team-%' on conflict do nothing`)
  await store.run(`
    insert into api_key (id, secret_sha256, account, label, created_at)
    select 'key-of-' || id, '', id, 'seeded', 0 from account where id like 'team-%' on conflict do nothing`)
}

/** `mixed` is a hash of the number of the entry; the numbers are `$1` to `$2`. */
function insertEntries (engine: Store['engine']): string {
  const numbers = engine === 'postgres'
    ? 'select cast(n as bigint) as n from generate_series(cast($1 as bigint), cast($2 as bigint)) as given (n)'
    : 'select cast($1 as integer) as n union all select n + 1 from number where n < $2'
  return `
    with recursive number (n) as (${numbers}),
    mixed as (select n, ((n + $3) * 2654435761 % 4294967296) / 65536 as m from number)
    insert into entry (at, debit, credit, amount, kind, ref, model, provider, usage, api_key, chain)
    select cast($5 + n * cast($6 as double precision) as bigint), 'team-' || (m % $4), 'revenue', 1000 + m, 'usage', 'req_' || n,
      'model-' || (m % ${models}), 'provider', '{"prompt":' || (m % 4000) || ',"completion":' || (m % 700) || '}',
      'key-of-team-' || (m % $4), 'team-' || (m % $4)
    from mixed`
}
