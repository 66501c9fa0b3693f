import { LRUCache } from 'lru-cache'
import { budgetPrefix, currency } from '../ledger/accounts.ts'
import type { Queries, Store } from '../store/store.ts'
import { periodAt } from './periods.ts'
import { lockKey } from './rows.ts'
import type { Budget, StoredKey } from './rows.ts'

/** The accounts that stand for a key's budget, with rows in the database. */
export interface OpenBudget {
  account: string
  /** When the next one begins to count, in milliseconds; Infinity for a budget without a period. */
  endsAt: number
  /** The account of the next period, null while that is far away. */
  next: string | null
}

/**
 * What the accounts of a key's budget are called in the period that a time in milliseconds is in, and in the
 * next. A budget without a period has one account for ever.
 */
export function budgetAccounts (
  key: string, { period }: Budget, at: number
): OpenBudget & { next: string } {
  const whole = `${budgetPrefix}${key}`
  if (period === null) return { account: whole, endsAt: Infinity, next: whole }
  const { name, endsAt } = periodAt(period, at)
  return { account: `${whole}:${name}`, endsAt, next: `${whole}:${periodAt(period, endsAt).name}` }
}

/** Sees to it that the budgets of keys have their accounts before a request needs them. */
export interface Budgets {
  /**
   * Creates the account of a key's budget where it is missing, and shortly before the period ends that of the
   * next, so that no request waits at the turn. Null for a key without budget. Throws StoreUnavailable.
   */
  open (key: StoredKey, at: number): Promise<OpenBudget | null>
}

const maxOpened = 20_000
/** Longer than a key stands as it was while the database is away. */
const minLeadMs = 5 * 60_000
const maxLeadMs = 60 * 60_000

/** Creates the budgets of a store's keys. Accounts are remembered, as they are never removed. */
export function createBudgets (store: Store): Budgets {
  const opened = new LRUCache<string, true>({ max: maxOpened })

  async function open (key: StoredKey, { limitNano }: Budget, account: string, at: number): Promise<void> {
    if (opened.has(account)) return
    const found = await store.get('select 1 as found from account where id = $1', [account])
    const missing = { id: account, key: key.id, limitNano, at }
    if (found === undefined) await store.transaction((queries) => create(queries, missing))
    opened.set(account, true)
  }

  return {
    async open (key, at) {
      const { budget } = key
      if (budget === null || key.revokedAt !== null) return null
      const { account, endsAt, next } = budgetAccounts(key.id, budget, at)
      await open(key, budget, account, at)
      if (at < endsAt - leadMs(key.id)) return { account, endsAt, next: null }
      await open(key, budget, next, at)
      return { account, endsAt, next }
    }
  }
}

/**
 * Makes a new limit count in the period that runs and in the next, which may have its account already. To be
 * called behind the lock of the key's row, in the transaction that changes it.
 */
export async function limitBudget (
  queries: Queries, key: string, budget: Budget, at: number
): Promise<void> {
  const { account, next } = budgetAccounts(key, budget, at)
  await queries.run(
    "update account set credits = $3 where id in ($1, $2) and kind = 'budget'", [account, next, budget.limitNano])
}

interface NewBudgetAccount { id: string, key: string, limitNano: number, at: number }

/** Behind the lock of the key, so that a limit that is changed at the same time is not missed. */
async function create (queries: Queries, { id, key, limitNano, at }: NewBudgetAccount): Promise<void> {
  const present = await lockKey(queries, key)
  await queries.run(`
    insert into account (id, name, currency, kind, credits, created_at) values ($1, $2, $3, 'budget', $4, $5)
    on conflict (id) do nothing`,
  [id, `Budget of the key ${key}`, currency, present?.budget?.limitNano ?? limitNano, at])
}

/** Spread by the id, so that not all keys ask for their accounts at the same moment. */
function leadMs (key: string): number {
  const spread = Number.parseInt(key.slice(0, 4), 36) / 36 ** 4
  return minLeadMs + (maxLeadMs - minLeadMs) * (Number.isNaN(spread) ? 0 : spread)
}
