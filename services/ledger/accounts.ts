import { GatewayError } from '../shared/errors.ts'
import { assertSafe } from '../shared/money.ts'
import { noLimits, type Limits } from '../shared/limits.ts'
import type { Queries, Store } from '../store/store.ts'
import { idempotencyConflict, unknownAccount } from './errors.ts'

interface NewAccount {
  /** 1 to 128 letters, digits or `._:@-`; not one of the ledger's own accounts, nor `budget:…`. */
  id: string
  name?: string
  /** Whose money this account shares; it never changes, so there are no cycles. */
  parent?: string | null
  limits?: Limits
}

interface Deposit {
  /** Chosen by the caller; repeating it is a no-op. */
  id: string
  account: string
  amountNano: number
  at?: number
}

/** Integer nano-USD. What may still be spent is credits − spent − held. */
export interface Balance { creditsNano: number, spentNano: number, heldNano: number }

/** The gateway's own side of the books, the counterpart of a customer's account in every entry. */
const ownAccounts: readonly string[] = ['funding', 'revenue', 'suspense']

/** The most accounts a request is charged to: the paying one and its parents. */
export const maxAccountDepth = 5

export const currency = 'usd'

/** What the ids of key budgets begin with. */
export const budgetPrefix = 'budget:'

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/

export type Accounts = ReturnType<typeof createAccounts>

/**
 * Creates the accounts of a store; `queries` makes a method part of the caller's transaction. Methods throw
 * StoreUnavailable.
 */
export function createAccounts (store: Store, clock: () => number = Date.now) {
  return {
    /** False if the id exists. Throws GatewayError 400 for an invalid id or parent, or too many parents. */
    async create (account: NewAccount, queries: Queries = store): Promise<boolean> {
      const { id, name = id, parent = null, limits = noLimits } = account
      if (!idPattern.test(id) || ownAccounts.includes(id) || id.startsWith(budgetPrefix)) {
        throw GatewayError.invalidRequest(`\`${id.slice(0, 128)}\` is not a valid account id.`, { param: 'id' })
      }
      if (parent !== null) await refuseWrongParent(queries, parent)
      return await queries.run(`
        insert into account (id, parent, name, currency, created_at,
          requests_per_minute, tokens_per_minute, concurrent_requests) values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (id) do nothing`, [id, parent, name, currency, clock(), ...columnsOf(limits)]) === 1
    },

    /** Applies in every process within 2 s. Throws GatewayError 404. */
    async limit (id: string, limits: Limits): Promise<void> {
      const changed = await store.run(`
        update account set requests_per_minute = $2, tokens_per_minute = $3, concurrent_requests = $4
        where id = $1 and kind = 'account'`, [id, ...columnsOf(limits)])
      if (changed === 0) throw unknownAccount(id)
    },

    /**
     * Returns false if this deposit was booked before. Throws GatewayError 404 for an unknown account, 409
     * when the id belongs to another posting, RangeError beyond the safe integers.
     */
    async deposit ({ id, account, amountNano, at = clock() }: Deposit, queries?: Queries): Promise<boolean> {
      if (assertSafe(amountNano) <= 0) throw new RangeError(`A deposit must be positive, not ${amountNano}`)
      const deposit = { id, account, amountNano, at }
      if (queries !== undefined) return await book(queries, deposit)
      return await store.transaction((own) => book(own, deposit))
    },

    /** Throws GatewayError 404. */
    async balance (id: string): Promise<Balance> {
      const balance = await store.get<Balance>(`
        select credits as "creditsNano", spent as "spentNano", held as "heldNano" from account where id = $1`, [id])
      if (balance === undefined) throw unknownAccount(id)
      return balance
    },

    /** Locks the account until the caller's transaction ends. */
    async lock (id: string, queries: Queries): Promise<void> {
      // SQLite has no `for update`; an update without effect takes the same lock on every engine.
      await queries.run('update account set held = held where id = $1', [id])
    }
  }
}

function columnsOf ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Limits) {
  return [requestsPerMinute, tokensPerMinute, concurrentRequests]
}

/** Parents are never changed or deleted, so this needs no lock. */
async function refuseWrongParent (queries: Queries, parent: string): Promise<void> {
  const line = await queries.get<{ depth: number | null }>(`
    with recursive line (parent, depth) as (
      select parent, 1 from account where id = $1 and kind = 'account'
      union all
      select account.parent, depth + 1 from line join account on account.id = line.parent where depth < $2
    )
    select max(depth) as depth from line`, [parent, maxAccountDepth])
  const depth = line?.depth ?? 0
  if (depth === 0) {
    throw GatewayError.invalidRequest(`The account \`${parent.slice(0, 128)}\` does not exist.`, { param: 'parent' })
  }
  if (depth >= maxAccountDepth) {
    throw GatewayError.invalidRequest(`An account may have at most ${maxAccountDepth - 1} parents in a row.`,
      { param: 'parent' })
  }
}

async function book (queries: Queries, { id, account, amountNano, at }: Required<Deposit>): Promise<boolean> {
  const booked = await queries.run(`
    insert into entry (idempotency_key, at, debit, credit, amount, kind)
    select $1, $2, 'funding', id, $4, 'deposit' from account where id = $3 and kind = 'account'
    on conflict do nothing`, [id, at, account, amountNano])
  if (booked === 0) return await refuseUnlessReplayed(queries, id, account, amountNano)

  const credited = await queries.run(
    'update account set credits = credits + $2 where id = $1 and credits <= $3',
    [account, amountNano, Number.MAX_SAFE_INTEGER - amountNano])
  if (credited === 0) throw new RangeError(`The credits of ${account} would exceed the safe integers`)
  return true
}

async function refuseUnlessReplayed (
  queries: Queries, id: string, account: string, amountNano: number
): Promise<false> {
  const earlier = await queries.get<{ kind: string, credit: string, amount: number }>(
    'select kind, credit, amount from entry where idempotency_key = $1', [id])
  if (earlier === undefined) throw unknownAccount(account)
  if (earlier.kind === 'deposit' && earlier.credit === account && earlier.amount === amountNano) return false
  throw idempotencyConflict(id, 'posting')
}
