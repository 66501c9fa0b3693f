import { budgetAccounts } from '../../keys/budgets.ts'
import { periodAt, type Period, type PeriodSpan } from '../../keys/periods.ts'
import { selectKey } from '../../keys/rows.ts'
import { entriesOfPeriod } from '../../billing/ledger/sql/entry-blocks.ts'
import { exactUsd } from '../reports/exact-json.ts'
import { createJsonRows } from '../../store/json-rows.ts'
import type { Store } from '../../store/store.ts'
import { insertAlert } from './new-alert.ts'

/** A budget that has recently ended is still reported. */
const lookBackMs = 60_000
/** Longer than a period; older budgets have ended. */
const maxAgeMs = 40 * 86_400_000

interface Crossing { id: string, limitNano: number, spentNano: number, percent: number }

/** Reports the thresholds, in percent, that budgets of keys have reached. Throws StoreUnavailable. */
export async function reportKeyBudgets (store: Store, thresholds: readonly number[]): Promise<void> {
  const at = store.clock()
  const given = createJsonRows<{ percent: number }>(store.engine, { percent: 'bigint' })
  const crossings = await store.reports.all<Crossing>(`
    select account.id, credits as "limitNano", spent as "spentNano", given.percent
    from account cross join ${given.sql} as given
    where kind = 'budget' and credits > 0 and spent > 0
    and cast(spent as double precision) / credits >= given.percent / 100.0
    and (account.id not like 'budget:%:%' or account.created_at > $2)
    and not exists (select 1 from alert where alert.source = account.id and alert.period = cast(credits as text)
      and alert.threshold = given.percent)
    order by account.id, given.percent`, [given.parameter(thresholds.map(percent => ({ percent }))), at - maxAgeMs])
  for (const crossing of crossings) await reportKeyBudget(store, crossing, at)
}

async function reportKeyBudget (
  store: Store, { id, limitNano, spentNano, percent }: Crossing, at: number
): Promise<void> {
  const [, keyId = '', period = ''] = /^budget:([^:]+):?(.*)$/.exec(id) ?? []
  const key = await selectKey(store, keyId)
  if (key === undefined || key.budget === null || key.revokedAt !== null) return
  const { budget } = key
  if (![at, at - lookBackMs].some(time => budgetAccounts(keyId, budget, time).account === id)) return
  const subject = { key: keyId, key_label: key.label, account: key.account }
  const data = { ...subject, period: period === '' ? null : period, ...amounts({ percent, limitNano, spentNano }) }
  const once = { source: id, period: String(limitNano), threshold: percent }
  await insertAlert(store, { ...once, type: 'budget.threshold_reached', data }, at)
}

interface SoftBudgetRow {
  id: string
  name: string
  limitNano: number
  period: Period | null
  /** Total spending. */
  spentNano: number
}

/** Reports the thresholds, in percent, that soft budgets have reached. Throws StoreUnavailable. */
export async function reportAccountBudgets (
  store: Store, thresholds: readonly number[]
): Promise<void> {
  const at = store.clock()
  const rows = await store.reports.all<SoftBudgetRow>(`
    select id, name, soft_budget as "limitNano", soft_budget_period as period, spent as "spentNano" from account
    where soft_budget is not null and closed_at is null`)
  for (const row of rows) await reportAccountBudget(store, row, thresholds, at)
}

async function reportAccountBudget (
  store: Store, row: SoftBudgetRow, thresholds: readonly number[], at: number
): Promise<void> {
  const { id, name, limitNano } = row
  const span = row.period === null ? null : periodAt(row.period, at)
  const spentNano = row.spentNano - (span === null ? 0 : await spentBefore(store, id, span))
  const reached = thresholds.filter(percent => spentNano / limitNano >= percent / 100)
  if (reached.length === 0) return
  const source = `account:${id}`
  const period = `${span?.name ?? ''}/${limitNano}`
  const known = await store.all<{ threshold: number }>(
    'select threshold from alert where source = $1 and period = $2', [source, period])
  for (const percent of reached) {
    if (known.some(({ threshold }) => threshold === percent)) continue
    const subject = { key: null, account: id, account_name: name, period: span?.name ?? null }
    const data = { ...subject, ...amounts({ percent, limitNano, spentNano }) }
    await insertAlert(store, { source, period, threshold: percent, type: 'budget.threshold_reached', data }, at)
  }
}

/**
 * Returns what an account had spent before a period, which does not change later: what it has spent by now,
 * less the entries since. Read once for each period.
 */
async function spentBefore (store: Store, account: string, { name, startsAt }: PeriodSpan): Promise<number> {
  const known = await store.get<{ spent: number }>(
    'select spent from period_start where account = $1 and period = $2', [account, name])
  if (known !== undefined) return known.spent
  const before = await store.reports.get<{ spent: number }>(`
    select spent - (
      select cast(coalesce(sum(case kind when 'usage' then amount else -amount end), 0) as bigint)
      from ${entriesOfPeriod(store.engine, '$2', '$3')}
      where entry.at >= $2 and entry.at < $3 and kind in ('usage', 'refund')
      and chain in (select id from chain where account = $1)
    ) as spent from account where id = $1`, [account, startsAt, Number.MAX_SAFE_INTEGER])
  const spent = before?.spent ?? 0
  await store.run(
    'insert into period_start (account, period, spent) values ($1, $2, $3) on conflict do nothing',
    [account, name, spent])
  return spent
}

function amounts ({ percent, limitNano, spentNano }: Omit<Crossing, 'id'>) {
  return {
    threshold_percent: percent,
    budget_usd: exactUsd(limitNano),
    budget_nano: limitNano,
    spent_usd: exactUsd(spentNano),
    spent_nano: spentNano
  }
}
