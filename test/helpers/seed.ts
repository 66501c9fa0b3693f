import { recordEntryBlocks } from '../../services/billing/ledger/sql/entry-blocks.ts'
import { countWaitingEntries, rollUpUsage } from '../../services/operations/reports/roll-up.ts'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'

/** How many rows to add, of the last 25 days or a minute apart; default: none. */
export type SeedCounts = Partial<Record<keyof typeof statements, number>>

/**
 * Adds rows of the account `default`, which must exist, to an engine of either kind, and does what a gateway
 * does with entries from time to time. The account's own figures stay as they are, so the books do not agree.
 * As a program: `node bin/node.js test/helpers/seed.ts <DATABASE_URL> keys=100000 requests=1000000`.
 */
export async function seed (store: Store, counts: SeedCounts): Promise<void> {
  const now = store.clock()
  await store.run("insert into chain (id, account) values ('default', 'default') on conflict (id, account) do nothing")
  for (const [name, statement] of Object.entries(statements)) {
    const count = counts[name as keyof typeof statements] ?? 0
    for (let first = 1; first <= count; first += rowsAtOnce) {
      await store.run(`${numbers} ${statement}`, [count, now, first, Math.min(count, first + rowsAtOnce - 1)])
    }
  }
  const { entries = 0 } = counts
  // A running gateway does so too, and the one that was overtaken stops.
  while (await countWaitingEntries(store) > 0) await rollUpUsage(store, { chunk: rowsAtOnce })
  for (let recorded = 0; recorded < entries; recorded += entriesRecordedAtOnce) await recordEntryBlocks(store)
}

/** By one call of `recordEntryBlocks`. */
const entriesRecordedAtOnce = 100_000

/** Shorter than any timeout of a statement. */
const rowsAtOnce = 50_000

/** Numbers up to the count, which is the first parameter; the second is the time, the others their range. */
const numbers = `with recursive n (i) as (
  select cast($3 as bigint) where cast($1 as bigint) > 0 union all select i + 1 from n where i < cast($4 as bigint))`

/** Every 50th request is limited, every 50th fails, and every 50th loses its client. */
const ending = (limited: string, failed: string, gone: string, good: string) =>
  `case i % 50 when 0 then ${limited} when 1 then ${failed} when 2 then ${gone} else ${good} end`

const statements = {
  accounts: `
    insert into account (id, name, currency, created_at)
    select 'seed' || cast(i as text), 'seeded ' || cast(i as text), 'usd', $2 - i * 60000 from n`,
  keys: `
    insert into api_key (id, secret_sha256, account, role, created_at, label)
    select 'seed' || cast(i as text), '${'0'.repeat(64)}', 'default', 'user', $2 - i * 60000, 'seeded ' || cast(i as text) from n`,
  requests: `
    insert into request_log (request, at, api_key, account, route, model, asked, provider, status, outcome, attempts,
      prompt_tokens, completion_tokens, cost_nano, total_ms, weight)
    select 'req_seed' || cast(i as text), $2 - ($1 - i) * (2160000000 / $1), 'seed' || cast(i % 1000 as text), 'default',
      '/v1/chat/completions', 'chat', case i % 9 when 0 then 'auto' else 'chat' end, 'up',
      ${ending('429', '502', '200', '200')}, ${ending('2', '2', '1', '0')}, 1, 100, 20, 1000, 300, 1 from n`,
  jobs: `
    insert into job (id, account, api_key, chain, model, candidates, body_hash, request, base_url, state, deadline_at,
      seconds, created_at, finished_at, delivered)
    select 'job_seed' || cast(i as text), 'default', 'seed' || cast(i % 1000 as text), 'default', 'video', '[]', '', '{}', '',
      ${ending("'failed'", "'cancelled'", "'succeeded'", "'succeeded'")}, $2, 1, $2 - i * 60000, $2 - i * 60000,
      ${ending('0', '0', '0', '1')} from n`,
  media: `
    insert into media (id, account, mime, extension, bytes, sha256, created_at, expires_at)
    select 'seed' || cast(i as text), 'default', case i % 50 when 0 then 'video/mp4' else 'image/png' end,
      case i % 50 when 0 then 'mp4' else 'png' end, 1, '', $2 - i * 60000, $2 + 86400000 from n`,
  entries: `
    insert into entry (at, debit, credit, amount, kind, ref, model, provider, api_key, chain)
    select $2 - ($1 - i) * (2160000000 / $1), 'default', 'revenue', 1000, 'usage', 'req_seed' || cast(i as text), 'chat', 'up',
      'seed' || cast(i % 1000 as text), 'default' from n`,
  audit: `
    insert into audit (at, actor, action, target)
    select $2 - ($1 - i) * 60000, 'env', 'key.update', 'key:seed' || cast(i as text) from n`
}

if (process.argv[1] === import.meta.filename) {
  const [, , url = '', ...counts] = process.argv
  const store = await openStore(url)
  await seed(store, Object.fromEntries(counts.map(text => {
    const [name = '', count = ''] = text.split('=')
    return [name, Number(count)]
  })))
  await store.close()
}
