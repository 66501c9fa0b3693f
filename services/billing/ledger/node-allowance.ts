import type { Store } from '../../store/store.ts'
import { unknownAccount } from './errors.ts'
import type { AccountBalance, AccountMeans } from './ledger.ts'

/** What one node may grant of one account without a query. Integer nano-USD. */
export interface NodeAllowance {
  readonly account: string
  /** At most the row of the node's hold, less what is being given back. */
  grantedNano: number
  inFlightNano: number
  /** Settled, but not yet acknowledged by the database. */
  postedNano: number
  usedAtMs: number
  /** Not used lately: nothing is kept spare. */
  idle: boolean
  /** Until then another node gets what is spare; monotonic clock. */
  yieldUntilMs: number
  /** What the account had at the last commit: left beside this allowance, and not spent. */
  available: { nano: number, unspentNano: number, atMs: number } | null
}

/** One life of a node, from joining until it leaves or is declared dead. */
export interface Term {
  /** Id of the node's holds: its own id and the epoch. */
  readonly id: string
  /** The fencing token. */
  readonly epoch: number
  /** Of the last settlement of a fresh hold; they are committed in order. */
  lastSequence: number
  readonly allowances: Map<string, NodeAllowance>
  /** Those whose rows the next commit has to write. */
  readonly dirty: Set<NodeAllowance>
}

export interface Grant { readonly term: Term, readonly allowances: readonly NodeAllowance[] }

/** Returns what may be granted at once. */
function freeNano (allowance: NodeAllowance): number {
  return allowance.grantedNano - allowance.inFlightNano - allowance.postedNano
}

/** Returns the node's allowance of an account, creating an empty one. */
export function allowanceOf ({ allowances }: Term, account: string): NodeAllowance {
  const known = allowances.get(account)
  if (known !== undefined) return known
  const allowance = {
    account,
    grantedNano: 0,
    inFlightNano: 0,
    postedNano: 0,
    usedAtMs: 0,
    idle: false,
    yieldUntilMs: 0,
    available: null
  }
  allowances.set(account, allowance)
  return allowance
}

/** Sets an amount aside on every account of a chain, or returns null when an allowance does not cover it. */
export function grantFromMemory (
  term: Term, chain: readonly string[], amountNano: number, nowMs: number
): Grant | null {
  const allowances: NodeAllowance[] = []
  for (const account of chain) {
    const allowance = term.allowances.get(account)
    if (allowance === undefined || freeNano(allowance) < amountNano) return null
    allowances.push(allowance)
  }
  for (const allowance of allowances) {
    allowance.inFlightNano += amountNano
    allowance.usedAtMs = nowMs
    allowance.idle = false
  }
  return { term, allowances }
}

/** About what the node could hold now: what is free here, and what the account had at the last commit. */
export function reachNano ({ allowances }: Term, account: string): number {
  const allowance = allowances.get(account)
  return allowance === undefined ? 0 : freeNano(allowance) + Math.max(0, allowance.available?.nano ?? 0)
}

/** Drops an empty allowance, so that memory holds only accounts in use and those that yield. */
export function forgetIfEmpty ({ allowances, dirty }: Term, allowance: NodeAllowance, nowMs: number): void {
  const { grantedNano, inFlightNano, postedNano, yieldUntilMs } = allowance
  const isEmpty = grantedNano === 0 && inFlightNano === 0 && postedNano === 0
  if (isEmpty && nowMs >= yieldUntilMs && !dirty.has(allowance)) allowances.delete(allowance.account)
}

interface BalanceRow {
  creditsNano: number
  spentNano: number
  heldNano: number
  /** What other nodes held unused, when they last wrote it. */
  spareNano: number
  allowanceNano: number
}

const freshMs = 1_000

/**
 * Creates the balances of a store's accounts; `askedNano` is what reservations of this node wait for. Methods
 * throw StoreUnavailable.
 */
export function createBalances (
  store: Store, currentTerm: () => Term | null, askedNano: (account: string) => number
) {
  async function read (account: string): Promise<BalanceRow> {
    const row = await store.get<BalanceRow>(`
      select credits as "creditsNano", spent as "spentNano", held as "heldNano",
        (select cast(coalesce(sum(spare), 0) as bigint) from hold
          where hold.account = $1 and kind = 'node' and state = 0 and hold.id <> $2) as "spareNano",
        (select cast(coalesce(sum(amount), 0) as bigint) from hold
          where hold.account = $1 and hold.id = $2 and state = 0) as "allowanceNano"
      from account where id = $1`, [account, currentTerm()?.id ?? ''])
    if (row === undefined) throw unknownAccount(account)
    return row
  }

  const known = (account: string) => currentTerm()?.allowances.get(account)

  /** From what the database has: left beside the allowance of this node, and not spent. */
  function toMeans (account: string, leftNano: number, notSpentNano: number): AccountMeans {
    const allowance = known(account)
    const freeHereNano = allowance === undefined ? 0 : freeNano(allowance)
    return {
      availableNano: Math.max(0, leftNano + freeHereNano - askedNano(account)),
      unspentNano: Math.max(0, notSpentNano - (allowance?.postedNano ?? 0))
    }
  }

  async function readMeans (account: string): Promise<AccountMeans> {
    const { creditsNano, spentNano, heldNano } = await read(account)
    const unspentNano = creditsNano - spentNano
    return toMeans(account, unspentNano - heldNano, unspentNano)
  }

  return {
    /** `heldNano` excludes what nodes have spare. Throws GatewayError 404. */
    async balance (account: string): Promise<AccountBalance> {
      const { creditsNano, spentNano, heldNano: inRows, spareNano, allowanceNano } = await read(account)
      const heldNano = inRows - spareNano - allowanceNano + (known(account)?.inFlightNano ?? 0)
      return { creditsNano, spentNano, heldNano, availableNano: creditsNano - spentNano - heldNano }
    },

    /** Returns from memory what was under 1 s old when the account was last used. */
    means (account: string): AccountMeans | Promise<AccountMeans> {
      const allowance = known(account)
      if (allowance === undefined || allowance.idle || allowance.available === null) return readMeans(account)
      const { nano, unspentNano, atMs } = allowance.available
      if (allowance.usedAtMs - atMs > freshMs) return readMeans(account)
      return toMeans(account, nano, unspentNano)
    }
  }
}
