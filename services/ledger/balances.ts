import type { Store } from '../store/store.ts'
import type { Lease } from './cluster/node-membership.ts'
import type { AccountBalance } from './ledger.ts'
import { unknownAccount } from './refusals.ts'
import { freeNano } from './node-allowance.ts'

interface BalanceRow {
  creditsNano: number
  spentNano: number
  heldNano: number
  /** What other nodes held and no request of theirs used, when they last wrote it. */
  spareNano: number
  /** This node's own row. */
  rowNano: number
}

const hintFreshMs = 1_000

/** The figures of accounts, out of the database and this node's memory. Methods throw StoreUnavailable. */
export type Balances = ReturnType<typeof createBalances>

/** Creates the figures of a store's accounts as one node sees them. */
export function createBalances ({ store, lease }: { store: Store, lease: Lease }) {
  async function read (account: string): Promise<BalanceRow> {
    const row = await store.get<BalanceRow>(`
      select credits as "creditsNano", spent as "spentNano", held as "heldNano",
        (select cast(coalesce(sum(spare), 0) as bigint) from hold
          where hold.account = $1 and kind = 'node' and state = 0 and hold.id <> $2) as "spareNano",
        (select cast(coalesce(sum(amount), 0) as bigint) from hold
          where hold.account = $1 and hold.id = $2 and state = 0) as "rowNano"
      from account where id = $1`, [account, lease.term?.id ?? ''])
    if (row === undefined) throw unknownAccount(account)
    return row
  }

  const shareOf = (account: string) => lease.term?.shares.get(account)

  return {
    /**
     * `heldNano` is what requests hold: durable holds, what runs on this node, and what other nodes held when
     * they last wrote. What nodes keep spare is available. Throws GatewayError 404 for an unknown account.
     */
    async balance (account: string): Promise<AccountBalance> {
      const { creditsNano, spentNano, heldNano: inRows, spareNano, rowNano } = await read(account)
      const heldNano = inRows - spareNano - rowNano + (shareOf(account)?.inFlightNano ?? 0)
      return { creditsNano, spentNano, heldNano, availableNano: creditsNano - spentNano - heldNano }
    },

    /**
     * What this node could hold at once or after asking. Without the database where it was a second old at
     * most when the account was last used, and the account is in use; to read a clock takes longer.
     */
    hint (account: string): number | Promise<number> {
      const share = shareOf(account)
      if (share === undefined || share.idle || share.available === null) return readHint(account)
      if (share.usedAtMs - share.available.atMs > hintFreshMs) return readHint(account)
      return Math.max(0, share.available.nano + freeNano(share))
    }
  }

  async function readHint (account: string): Promise<number> {
    const { creditsNano, spentNano, heldNano } = await read(account)
    const share = shareOf(account)
    return Math.max(0, creditsNano - spentNano - heldNano + (share === undefined ? 0 : freeNano(share)))
  }
}
