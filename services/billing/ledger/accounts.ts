import { gatewayActor, recordChange, type Actor } from '../../store/audit.ts'
import { GatewayError } from '../../shared/errors.ts'
import { assertSafe } from '../../shared/money.ts'
import { noLimits, toLimitSet, type Limits } from '../../shared/limits.ts'
import type { Queries, Store } from '../../store/store.ts'
import { createAccountChanges, limitValues } from './account-changes.ts'
import { lockLines, refuseClosed, refuseTooDeep, refuseUnknownParent } from './account-line.ts'
import { createAccountMoves } from './account-moves.ts'
import { bookCredits, isBooked, movementsBetween } from './book-credits.ts'
import { unknownAccount } from './errors.ts'
import { createStatements, type Statements } from './sql/statements.ts'

interface NewAccount {
  /** 1 to 128 letters, digits or `._:@-`; not one of the ledger's own accounts, nor `budget:…`. */
  id: string
  name?: string
  /** The account that this one is a part of. */
  parent?: string | null
  limits?: Limits
  actor?: Actor
}

interface Deposit {
  /** Chosen by the caller; repeating it is a no-op. */
  id: string
  account: string
  amountNano: number
  at?: number
  actor?: Actor
}

/** Integer nano-USD. What may still be spent is credits − spent − held. */
export interface Balance { creditsNano: number, spentNano: number, heldNano: number }

/** The gateway's own side of the books, the counterpart of a customer's account in every entry. */
export const ownAccounts: readonly string[] = ['funding', 'revenue', 'suspense']

export const currency = 'usd'

/** What the ids of key budgets begin with. */
export const budgetPrefix = 'budget:'

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/
const idRule = '1 to 128 letters, digits and . _ : @ -, with a letter or digit first; ' +
  `${ownAccounts.join(', ')} and what begins with ${budgetPrefix} are the gateway's own.`

export type Accounts = ReturnType<typeof createAccounts>

/**
 * Creates the accounts of a store; `queries` makes a method part of the caller's transaction. Methods throw
 * StoreUnavailable.
 */
export function createAccounts (store: Store, clock = store.clock) {
  const statements = createStatements(store.engine)
  return {
    ...createAccountChanges(store, clock),
    ...createAccountMoves(store, clock),

    /** False if the id exists. Throws GatewayError 400 for an invalid id or parent, or too many parents. */
    async create (account: NewAccount, queries?: Queries): Promise<boolean> {
      const { id, name = id, parent = null, limits = noLimits, actor = gatewayActor } = account
      if (!idPattern.test(id) || ownAccounts.includes(id) || id.startsWith(budgetPrefix)) {
        throw GatewayError.invalidRequest(`\`${id.slice(0, 128)}\` is not a valid account id: ${idRule}`, { param: 'id' })
      }
      const insert = async (queries: Queries) =>
        await insertAccount(statements, queries, { id, name, parent, limits, actor }, clock())
      return await (queries === undefined ? store.transaction(insert) : insert(queries))
    },

    /**
     * Returns false if this deposit was booked before. Throws GatewayError 404 for an unknown account, 409
     * when the id belongs to another posting, RangeError beyond the safe integers.
     */
    async deposit (given: Deposit, queries?: Queries): Promise<boolean> {
      const { id, account, amountNano, at = clock(), actor = gatewayActor } = given
      if (assertSafe(amountNano) <= 0) throw new RangeError(`A deposit must be positive, not ${amountNano}`)
      const posting = { id, account, amountNano, at, actor }
      const book = (queries: Queries) => deposit(statements, queries, posting)
      return await (queries === undefined ? store.transaction(book) : book(queries))
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

async function insertAccount (
  statements: Statements, queries: Queries, { id, name, parent, limits, actor }: Required<NewAccount>,
  at: number
): Promise<boolean> {
  if (parent !== null) {
    await refuseUnknownParent(queries, parent)
    const [above] = await lockLines(statements, queries, [parent])
    refuseClosed(above)
    await refuseTooDeep(queries, id, above)
  }
  const inserted = await queries.run(`
    insert into account (id, parent, name, currency, created_at,
      requests_per_minute, tokens_per_minute, concurrent_requests) values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (id) do nothing`, [id, parent, name, currency, at, ...limitValues(limits)])
  if (inserted === 0) return false
  const after = { name, parent, limits: toLimitSet(limits) }
  await recordChange(queries, { actor, action: 'account.create', target: `account:${id}`, after, at })
  return true
}

async function deposit (
  statements: Statements, queries: Queries, { id, account, amountNano, at, actor }: Required<Deposit>
): Promise<boolean> {
  const [line] = await lockLines(statements, queries, [account])
  const terms = { kind: 'deposit', debit: 'funding', credit: account } as const
  if (await isBooked(queries, id, terms, amountNano)) return false
  refuseClosed(line)
  const movements = movementsBetween(null, line, amountNano)
  await bookCredits(queries, { id, ...terms, amountNano, reason: null, at, actor }, movements)
  return true
}
