import { openStore } from '../services/store/open.ts'
import type { Store } from '../services/store/store.ts'

/** How many rows to add; their times go back a minute each from now on. */
export interface SeedCounts { keys: number, requests: number, media: number }

/**
 * Adds keys, requests of the log and media of the account `default`, which must exist, to an engine of either
 * kind. As a program: `node bin/node.js test/seed.ts <DATABASE_URL> <keys> <requests> <media>`.
 */
export async function seed (
  store: Pick<Store, 'run' | 'clock'>, { keys, requests, media }: SeedCounts
): Promise<void> {
  const now = store.clock()
  await store.run(`${numbers}
    insert into api_key (id, secret_sha256, account, role, created_at, label)
    select 'seed' || cast(i as text), '${'0'.repeat(64)}', 'default', 'user', $2 - i * 60000, 'seeded ' || cast(i as text) from n`,
  [keys, now])
  await store.run(`${numbers}
    insert into request_log (request, at, api_key, account, route, model, provider, status, outcome, attempts, prompt_tokens,
      completion_tokens, cost_nano, total_ms, weight)
    select 'req_seed' || cast(i as text), $2 - ($1 - i) * 60000, 'seed' || cast(i % 1000 as text), 'default', '/v1/chat/completions', 'chat',
      'up', 200, 0, 1, 100, 20, 1000, 300, 1 from n`, [requests, now])
  await store.run(`${numbers}
    insert into media (id, account, mime, extension, bytes, sha256, created_at, expires_at)
    select 'seed' || cast(i as text), 'default', 'image/png', 'png', 1, '', $2 - i * 60000, $2 + 86400000 from n`, [media, now])
}

/** The numbers from 1 to the first parameter. */
const numbers = `with recursive n (i) as (
  select cast(1 as bigint) where cast($1 as bigint) > 0 union all select i + 1 from n where i < $1)`

if (process.argv[1] === import.meta.filename) {
  const [, , url = '', ...counts] = process.argv
  const [keys = 0, requests = 0, media = 0] = counts.map(Number)
  const store = await openStore(url)
  await seed(store, { keys, requests, media })
  await store.close()
}
