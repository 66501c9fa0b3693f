import { createJsonIds } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'

/** The statements on the terms of nodes, for one engine. */
export function nodeStatements (engine: Store['engine']) {
  const accounts = createJsonIds(engine)
  /** `$3` is how long a live node may be silent. One without spare money may have some later. */
  const askPeers = `
    update hold set spare_requested = 1
    where kind = 'node' and state = 0 and amount > 0 and spare_requested = 0 and id <> $2
    and account in (select id from ${accounts.sql} as given)
    and exists (select 1 from node where node.id = hold.owner and node.heartbeat_at > now_ms() - cast($3 as bigint))`
  return {
    /** Locks the node's row, so that its holds are not released meanwhile; false if they have been. */
    async heartbeat (queries: Queries, node: string, epoch: number, requestMs: number): Promise<boolean> {
      const renewed = await queries.run(
        'update node set heartbeat_at = now_ms(), request_ms = $3 where id = $1 and epoch = $2', [node, epoch, requestMs])
      return renewed === 1
    },

    /** The last booked sequence numbers of a term that has ended, by account. */
    async bookedSequences (queries: Queries, term: string): Promise<Map<string, number>> {
      const rows = await queries.all<{ account: string, sequence: number }>(
        'select account, booked_sequence as sequence from hold where id = $1', [term])
      return new Map(rows.map(({ account, sequence }) => [account, sequence]))
    },

    /** Asks other nodes for what they have spare; they give it back at their next commit. */
    async requestSpare (
      queries: Queries, term: string, leaseMs: number, short: readonly string[]
    ): Promise<void> {
      await queries.run(askPeers, [accounts.parameter(short), term, leaseMs])
    }
  }
}
