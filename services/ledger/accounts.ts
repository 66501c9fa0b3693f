import { GatewayError } from '../errors.ts'
import { assertSafe } from '../money.ts'
import type { Queries, Store } from '../store/store.ts'

export interface NewAccount {
  /** 1 to 128 letters, digits or `._:@-`, not one of the books' own accounts. */
  id: string
  name?: string
  /** The account whose money this one is a part of. */
  parent?: string | null
}

export interface Deposit {
  /** Chosen by the caller; the same deposit sent again changes nothing. */
  id: string
  account: string
  /** Positive integer nano-USD. */
  amountNano: number
  /** Milliseconds; now unless told. */
  at?: number
}

/** Integer nano-USD. What may still be spent is credits − spent − held. */
export interface Balance { creditsNano: number, spentNano: number, heldNano: number }

/**
 * Accounts and their credits. `queries` lets a method be part of the caller's transaction. Methods throw
 * StoreUnavailable when the database cannot be asked, GatewayError 400 when an id is wrong.
 */
export interface Accounts {
  /** Creates an account without credit; false, and nothing changed, when there is one of that id. */
  create (account: NewAccount, queries?: Queries): Promise<boolean>
  /**
   * Books money into an account; false when this very deposit was booked before. Throws GatewayError 404 for
   * an unknown account, 409 when the id belongs to another posting, RangeError when amount or credits leave
   * the safe integers.
   */
  deposit (deposit: Deposit, queries?: Queries): Promise<boolean>
  /** Throws GatewayError 404 when there is no such account. */
  balance (id: string): Promise<Balance>
  /** Makes other transactions that lock or change this account wait until the caller's ends. */
  lock (id: string, queries: Queries): Promise<void>
}

/** The gateway's own side of the books: every entry is between one of these and an account of a customer. */
export const ownAccounts: readonly string[] = ['funding', 'revenue', 'suspense']

const currency = 'usd'
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/

/** Creates the accounts of a store. `clock` gives milliseconds since 1970. */
export function createAccounts (store: Store, clock: () => number = Date.now): Accounts {
  return {
    async create ({ id, name = id, parent = null }, queries = store) {
      if (!idPattern.test(id) || ownAccounts.includes(id)) {
        throw GatewayError.invalidRequest(`\`${id.slice(0, 128)}\` cannot be the id of an account.`, { param: 'id' })
      }
      return await queries.run(`
        insert into account (id, parent, name, currency, created_at) values ($1, $2, $3, $4, $5)
        on conflict (id) do nothing`, [id, parent, name, currency, clock()]) === 1
    },

    async deposit ({ id, account, amountNano, at = clock() }, queries) {
      if (assertSafe(amountNano) <= 0) throw new RangeError(`A deposit is positive: ${amountNano}`)
      const deposit = { id, account, amountNano, at }
      if (queries !== undefined) return await book(queries, deposit)
      return await store.transaction((own) => book(own, deposit))
    },

    async balance (id) {
      const balance = await store.get<Balance>(`
        select credits as "creditsNano", spent as "spentNano", held as "heldNano" from account where id = $1`, [id])
      if (balance === undefined) throw unknownAccount(id)
      return balance
    },

    async lock (id, queries) {
      // SQLite has no `for update`; a change that changes nothing takes the same lock on every engine.
      await queries.run('update account set held = held where id = $1', [id])
    }
  }
}

async function book (queries: Queries, { id, account, amountNano, at }: Required<Deposit>): Promise<boolean> {
  const booked = await queries.run(`
    insert into entry (id, at, debit, credit, amount, kind)
    select $1, $2, 'funding', id, $4, 'deposit' from account where id = $3
    on conflict (id) do nothing`, [id, at, account, amountNano])
  if (booked === 0) return await refuseUnlessReplayed(queries, id, account, amountNano)

  const credited = await queries.run(
    'update account set credits = credits + $2 where id = $1 and credits <= $3',
    [account, amountNano, Number.MAX_SAFE_INTEGER - amountNano])
  if (credited === 0) throw new RangeError(`The credits of ${account} would leave the safe integers`)
  return true
}

async function refuseUnlessReplayed (
  queries: Queries, id: string, account: string, amountNano: number
): Promise<false> {
  const earlier = await queries.get<{ kind: string, credit: string, amount: number }>(
    'select kind, credit, amount from entry where id = $1', [id])
  if (earlier === undefined) throw unknownAccount(account)
  if (earlier.kind === 'deposit' && earlier.credit === account && earlier.amount === amountNano) return false
  throw new GatewayError(409, 'invalid_request_error', `The id \`${id}\` belongs to another posting.`,
    { param: 'id', code: 'idempotency_conflict' })
}

function unknownAccount (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `The account \`${id}\` does not exist.`,
    { code: 'account_not_found' })
}
