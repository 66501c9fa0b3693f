import type { Store } from './store.ts'

/** Whether this node runs a periodic task that one node runs for all; false if another began it recently. */
export async function claimChore (
  { run, clock }: Pick<Store, 'run' | 'clock'>, name: string, everyMs: number
): Promise<boolean> {
  const nowMs = clock()
  const claimed = await run(`
    insert into chore (name, begun_at) values ($1, $2)
    on conflict (name) do update set begun_at = excluded.begun_at where chore.begun_at <= $3`,
  [name, nowMs, nowMs - everyMs / 2])
  return claimed === 1
}
