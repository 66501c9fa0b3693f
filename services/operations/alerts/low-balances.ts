import { exactUsd } from '../reports/exact-json.ts'
import type { Store } from '../../store/store.ts'
import { insertAlert } from './new-alert.ts'

interface LowRow { id: string, name: string, balanceNano: number, limitNano: number, lowSince: number | null }

/**
 * Reports accounts whose balance has fallen below their limit, or below `defaultNano`, once until it has
 * risen again. Accounts that never had credits are not reported. Throws StoreUnavailable.
 */
export async function reportLowBalances (store: Store, defaultNano: number | null): Promise<void> {
  const changed = await store.reports.all<LowRow>(`
    select * from (
      select id, name, credits - spent as "balanceNano", coalesce(low_balance, cast($1 as bigint)) as "limitNano",
        low_since as "lowSince" from account where kind = 'account' and closed_at is null and credits > 0
    ) as watched where coalesce("balanceNano" < "limitNano", false) <> ("lowSince" is not null)`, [defaultNano])
  for (const row of changed) {
    if (row.lowSince === null) await reportLow(store, row)
    else await store.run('update account set low_since = null where id = $1', [row.id])
  }
}

async function reportLow (store: Store, { id, name, balanceNano, limitNano }: LowRow): Promise<void> {
  const at = store.clock()
  await store.transaction(async queries => {
    const marked = await queries.run(
      'update account set low_since = $2 where id = $1 and low_since is null', [id, at])
    if (marked === 0) return
    const data = {
      account: id,
      account_name: name,
      balance_usd: exactUsd(balanceNano),
      balance_nano: balanceNano,
      limit_usd: exactUsd(limitNano),
      limit_nano: limitNano
    }
    const alert = { source: `low:${id}`, period: String(at), threshold: 0, type: 'balance.low', data } as const
    await insertAlert(queries, alert, at)
  })
}
