import { createJsonIds } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'

/** The statements on the terms of nodes, for one engine. */
export function nodeStatements (engine: Store['engine']) {
  const accounts = createJsonIds(engine)
  /** Allowances of other live nodes with spare money; `$3` is the oldest heartbeat of a live node. */
  const peers = `
    kind = 'node' and state = 0 and spare > 0 and id <> $2 and account in (select id from ${accounts.sql} as given)
    and exists (select 1 from node where node.id = hold.owner and node.heartbeat_at > $3)`
  const spareOfPeers = `
    select account, cast(sum(spare) as bigint) as "spareNano" from hold where ${peers} group by account`
  const askPeers = `update hold set spare_requested = 1 where ${peers}`
  return {
    /** Locks the node's row, so that its holds are not released meanwhile; false if they have been. */
    async heartbeat (queries: Queries, node: string, epoch: number, nowMs: number): Promise<boolean> {
      const renewed = await queries.run(
        'update node set heartbeat_at = $3 where id = $1 and epoch = $2', [node, epoch, nowMs])
      return renewed === 1
    },

    /** The last booked sequence numbers of a term that has ended, by account. */
    async bookedSequences (queries: Queries, term: string): Promise<Map<string, number>> {
      const rows = await queries.all<{ account: string, sequence: number }>(
        'select account, booked_sequence as sequence from hold where id = $1', [term])
      return new Map(rows.map(({ account, sequence }) => [account, sequence]))
    },

    /** Returns how much other nodes have spare, and asks them for it. */
    async requestSpare (
      queries: Queries, term: string, aliveSinceMs: number, short: readonly string[]
    ): Promise<Map<string, number>> {
      const params = [accounts.parameter(short), term, aliveSinceMs]
      const rows = await queries.all<{ account: string, spareNano: number }>(spareOfPeers, params)
      if (rows.length > 0) await queries.run(askPeers, params)
      return new Map(rows.map(({ account, spareNano }) => [account, spareNano]))
    }
  }
}
