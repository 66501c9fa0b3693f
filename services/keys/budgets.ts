import { budgetPrefix, currency } from '../billing/ledger/accounts.ts'
import { createLru } from '../shared/lru.ts'
import type { Queries, Store } from '../store/store.ts'
import { periodAt } from './periods.ts'
import { lockKey } from './rows.ts'
import type { Budget, StoredKey } from './types.ts'

/** The ledger accounts of a key's budget that exist in the database. */
export interface OpenBudget {
  account: string
  /** When the next account takes over; Infinity without a period. */
  endsAt: number
  /** The account of the next period; null until it has been created. */
  next: string | null
  /** When the key must be looked up again, to create the next account or to switch to it. */
  renewAt: number
}

/** Names the budget's accounts of this period and the next; without a period they are one. */
export function budgetAccounts (key: string, { period }: Budget, at: number): Omit<OpenBudget, 'renewAt'> & { next: string } {
  const base = `${budgetPrefix}${key}`
  if (period === null) return { account: base, endsAt: Infinity, next: base }
  const { name, endsAt } = periodAt(period, at)
  return { account: `${base}:${name}`, endsAt, next: `${base}:${periodAt(period, endsAt).name}` }
}

const maxOpened = 20_000
/** Longer than a key is served from memory during a database outage. */
const minLeadMs = 5 * 60_000
const maxLeadMs = 60 * 60_000

/** Creates the budgets of a store's keys. Accounts are never removed, so they are cached. */
export function createBudgets (store: Store) {
  const opened = createLru<true>(maxOpened)

  async function open (key: StoredKey, { limitNano }: Budget, account: string, at: number): Promise<void> {
    if (opened.has(account)) return
    const found = await store.get('select 1 as found from account where id = $1', [account])
    const missing = { id: account, key: key.id, limitNano, at }
    if (found === undefined) await store.transaction((queries) => insertBudgetAccount(queries, missing))
    opened.set(account, true)
  }

  return {
    /** Also creates the next period's account shortly before it begins, so that no request waits for it. */
    async open (key: StoredKey, at: number): Promise<OpenBudget | null> {
      const { budget } = key
      if (budget === null || key.revokedAt !== null) return null
      const { account, endsAt, next } = budgetAccounts(key.id, budget, at)
      await open(key, budget, account, at)
      const renewAt = endsAt - leadMs(key.id)
      if (at < renewAt) return { account, endsAt, next: null, renewAt }
      await open(key, budget, next, at)
      return { account, endsAt, next, renewAt: endsAt }
    }
  }
}

/** Applies a changed limit to the current period and the next. The caller holds the lock of the key. */
export async function updateBudgetLimit (
  queries: Queries, key: string, budget: Budget, at: number
): Promise<void> {
  const { account, next } = budgetAccounts(key, budget, at)
  await queries.run(
    "update account set credits = $3 where id in ($1, $2) and kind = 'budget'", [account, next, budget.limitNano])
}

/** Locks the key, so that a concurrent change of its limit is not missed. */
async function insertBudgetAccount (
  queries: Queries, { id, key, limitNano, at }: { id: string, key: string, limitNano: number, at: number }
): Promise<void> {
  const present = await lockKey(queries, key)
  await queries.run(`
    insert into account (id, name, currency, kind, credits, created_at) values ($1, $2, $3, 'budget', $4, $5)
    on conflict (id) do nothing`,
  [id, `Budget of the key ${key}`, currency, present?.budget?.limitNano ?? limitNano, at])
}

/** Differs by key, so that the accounts of all keys are not created at the same moment. */
function leadMs (key: string): number {
  const jitter = Number.parseInt(key.slice(0, 4), 36) / 36 ** 4
  return minLeadMs + (maxLeadMs - minLeadMs) * (Number.isNaN(jitter) ? 0 : jitter)
}
