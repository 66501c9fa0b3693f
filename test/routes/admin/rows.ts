import type { Store } from '../../../services/store/store.ts'

/**
 * Inserts a running video job of the account `default` and returns its id. A node soon takes over, and fails,
 * a job without an owner that lives.
 */
export async function insertJob (store: Store, key: string, owner: string | null = null): Promise<string> {
  await store.run(`
    insert into job (id, account, api_key, chain, model, candidates, body_hash, request, base_url, state, deadline_at,
      seconds, created_at, owner)
    values ('job_1', 'default', $1, 'default', 'video', '[]', '', '{}', '', 'running', $2, 1, 0, $3)`,
  [key, Date.now() + 3_600_000, owner])
  return 'job_1'
}
