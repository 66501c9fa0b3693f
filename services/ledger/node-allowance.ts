import type { Store } from '../store/store.ts'
import { unknownAccount } from './errors.ts'
import type { AccountBalance } from './ledger.ts'

/** What one node may grant of one account without asking the database. Integer nano-USD. */
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
  /** What the account had left beside this allowance at the last commit. */
  available: { nano: number, atMs: number } | null
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

/** Returns what may be granted at once; negative after requests that cost more than their hold. */
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

/** Drops an empty allowance, so that memory holds only accounts in use. */
export function forgetIfEmpty ({ allowances, dirty }: Term, allowance: NodeAllowance): void {
  const { grantedNano, inFlightNano, postedNano } = allowance
  const empty = grantedNano === 0 && inFlightNano === 0 && postedNano === 0
  if (empty && !dirty.has(allowance)) allowances.delete(allowance.account)
}

interface BalanceRow {
  creditsNano: number
  spentNano: number
  heldNano: number
  /** What other nodes held unused, when they last wrote it. */
  spareNano: number
  allowanceNano: number
}

const hintFreshMs = 1_000

/** Creates the balances of a store's accounts. Methods throw StoreUnavailable. */
export function createBalances (store: Store, currentTerm: () => Term | null) {
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

  async function readHint (account: string): Promise<number> {
    const { creditsNano, spentNano, heldNano } = await read(account)
    const allowance = known(account)
    const freeHereNano = allowance === undefined ? 0 : freeNano(allowance)
    return Math.max(0, creditsNano - spentNano - heldNano + freeHereNano)
  }

  return {
    /** `heldNano` excludes what nodes have spare. Throws GatewayError 404. */
    async balance (account: string): Promise<AccountBalance> {
      const { creditsNano, spentNano, heldNano: inRows, spareNano, allowanceNano } = await read(account)
      const heldNano = inRows - spareNano - allowanceNano + (known(account)?.inFlightNano ?? 0)
      return { creditsNano, spentNano, heldNano, availableNano: creditsNano - spentNano - heldNano }
    },

    /** What this node could hold. Answers from memory if what it knows was under 1 s old when last used. */
    hint (account: string): number | Promise<number> {
      const allowance = known(account)
      if (allowance === undefined || allowance.idle || allowance.available === null) return readHint(account)
      if (allowance.usedAtMs - allowance.available.atMs > hintFreshMs) return readHint(account)
      return Math.max(0, allowance.available.nano + freeNano(allowance))
    }
  }
}
