import type { Store } from '../../../services/store/store.ts'

/** Inserts a running video job of the account `default` and returns its id. */
export async function insertJob (store: Store, key: string): Promise<string> {
  await store.run(`
    insert into job (id, account, api_key, chain, model, candidates, body_hash, request, base_url, state, deadline_at,
      seconds, created_at)
    values ('job_1', 'default', $1, 'default', 'video', '[]', '', '{}', '', 'running', $2, 1, 0)`,
  [key, Date.now() + 3_600_000])
  return 'job_1'
}
