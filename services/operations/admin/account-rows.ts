import type { Account } from '../../../schemas/admin/accounts.ts'
import { toWatched, watchedColumns, type WatchedColumns } from '../../billing/ledger/account-changes.ts'
import { maxAccountDepth } from '../../billing/ledger/account-line.ts'
import { isoTime, isoTimeOrNull } from '../../shared/iso-time.ts'
import { toLimitSet, type Limits } from '../../shared/limits.ts'
import { amountFields } from './amounts.ts'

/** A row with `accountColumns`; money in integer nano-USD. */
export interface StoredAccount extends Limits, WatchedColumns {
  id: string
  name: string
  parent: string | null
  createdAt: number
  frozenAt: number | null
  closedAt: number | null
  creditsNano: number
  spentNano: number
  heldNano: number
  allocatedNano: number
  availableNano: number
}

// A node's spare allowance is not held: other nodes can reclaim it.
const heldForRequests = (account: string) => `${account}.held - (
    select cast(coalesce(sum(spare), 0) as bigint) from hold
    where hold.account = ${account}.id and hold.kind = 'node' and hold.state = 0
  )`

/** The columns of an account. Its parents pay too, so the available amount is the least of all. */
export const accountColumns = `
  id, name, parent, requests_per_minute as "requestsPerMinute", tokens_per_minute as "tokensPerMinute",
  concurrent_requests as "concurrentRequests", created_at as "createdAt", frozen_at as "frozenAt",
  closed_at as "closedAt", ${watchedColumns}, credits as "creditsNano", spent as "spentNano",
  ${heldForRequests('account')} as "heldNano",
  (select cast(coalesce(sum(below.credits - below.spent), 0) as bigint) from account as below
    where below.parent = account.id) as "allocatedNano",
  (with recursive line (parent, free, depth) as (
    select account.parent, account.credits - account.spent - (${heldForRequests('account')}), 1
    union all
    select above.parent, above.credits - above.spent - (${heldForRequests('above')}), depth + 1
    from line join account as above on above.id = line.parent where depth < ${maxAccountDepth}
  ) select min(free) from line) as "availableNano"`

/** Converts a row to the form of the admin API. */
export function toAccount (
  { id, name, parent, createdAt, frozenAt, closedAt, ...row }: StoredAccount
): Account {
  const { creditsNano, spentNano, heldNano, allocatedNano, availableNano, ...others } = row
  const { softBudgetNano, softBudgetPeriod, lowBalanceNano, ...limits } = others
  const { softBudget } = toWatched({ softBudgetNano, softBudgetPeriod, lowBalanceNano })
  return {
    object: 'account',
    id,
    name,
    parent,
    state: closedAt !== null ? 'closed' : frozenAt !== null ? 'frozen' : 'active',
    created_at: isoTime(createdAt),
    frozen_at: isoTimeOrNull(frozenAt),
    closed_at: isoTimeOrNull(closedAt),
    limits: toLimitSet(limits),
    soft_budget: softBudget === null
      ? null
      : { ...amountFields('amount', softBudget.limitNano), period: softBudget.period },
    low_balance: lowBalanceNano === null ? null : amountFields('amount', lowBalanceNano),
    ...amountFields('credits', creditsNano),
    ...amountFields('spent', spentNano),
    ...amountFields('held', heldNano),
    ...amountFields('balance', creditsNano - spentNano),
    ...amountFields('allocated', allocatedNano),
    ...amountFields('available', availableNano)
  }
}
