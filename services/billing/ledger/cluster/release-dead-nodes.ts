import { createJsonIds } from '../../../store/json-rows.ts'
import type { Queries, Store, Value } from '../../../store/store.ts'
import { holdState } from '../sql/rows.ts'
import { createStatements } from '../sql/statements.ts'
import { otherNodeColumns, type OtherNode } from './node-liveness.ts'

export interface Released { account: string, amountNano: number }

interface ReleasedNode { epoch: number, released: Released[] }

const maxExpiredAtOnce = 500
/** Requests end with their node; jobs go on. */
const heldForRequests = "kind <> 'job' and state = 0"

export type StaleHolds = ReturnType<typeof createStaleHolds>

/**
 * Creates the release of dead nodes' and expired holds. Methods throw StoreUnavailable. One factory of four
 * methods, most of whose lines are SQL.
 */
export function createStaleHolds (store: Store) {
  const statements = createStatements(store.engine)
  const ids = createJsonIds(store.engine)

  async function uncount (queries: Queries, released: readonly Released[]): Promise<Released[]> {
    const sums = new Map<string, number>()
    for (const { account, amountNano } of released) sums.set(account, (sums.get(account) ?? 0) + amountNano)
    const merged = Array.from(sums, ([account, amountNano]) => ({ account, amountNano }))
    await statements.changeAccounts(queries, merged.map(({ account, amountNano }) => (
      { id: account, spent: 0, held: -amountNano })))
    return merged.filter(({ amountNano }) => amountNano > 0)
  }

  return {
    async otherNodes (except: string): Promise<OtherNode[]> {
      return await store.all<OtherNode>(`
        select ${otherNodeColumns} from node where id <> $1 and exists (
          select 1 from hold where owner = node.id and ${heldForRequests})`, [except])
    },

    /**
     * Releases what a node holds for requests, together with a change that raises its epoch and returns `id`
     * and `epoch`, so that no write under the old one is accepted; on Postgres in one statement, so that a
     * process that hangs keeps no account locked. Null if the change finds no node.
     */
    async releaseNode (change: string, params: readonly Value[], state: 2 | 3): Promise<ReleasedNode | null> {
      if (store.engine === 'postgres') {
        const rows = await store.all<{ epoch: number, account: string | null, amountNano: number }>(`
          with changed as (${change})
          select epoch, released_account as account, released_amount as "amountNano"
          from changed left join lateral release_holds(changed.id, ${state}) as released on true`, params)
        const [first] = rows
        if (first === undefined) return null
        const released = rows.flatMap(({ account, amountNano }) => {
          return account === null ? [] : [{ account, amountNano }]
        })
        return { epoch: first.epoch, released }
      }
      return await store.transaction(async (queries) => {
        const changed = await queries.get<{ id: string, epoch: number }>(change, params)
        if (changed === undefined) return null
        const released = await queries.all<Released>(`
          update hold set state = $2, resolved_at = now_ms(), spare = 0, spare_requested = 0
          where owner = $1 and ${heldForRequests} returning account, amount as "amountNano"`, [changed.id, state])
        return { epoch: changed.epoch, released: await uncount(queries, released) }
      })
    },

    /** Returns what was released; null if the node has sent a heartbeat since, or another node was faster. */
    async releaseDeadNode (
      { id, epoch, heartbeatAt }: Pick<OtherNode, 'id' | 'epoch' | 'heartbeatAt'>
    ): Promise<Released[] | null> {
      const ended = await this.releaseNode(`
        update node set epoch = epoch + 1 where id = $1 and epoch = $2 and heartbeat_at = $3 returning id, epoch`,
      [id, epoch, heartbeatAt], holdState.revoked)
      return ended?.released ?? null
    },

    /** Releases up to `maxExpiredAtOnce` holds, and returns them. */
    async releaseExpired (): Promise<Released[]> {
      const due = await store.all<{ id: string, account: string }>(`
        select id, account from hold where kind = 'job' and state = 0 and expires_at is not null and expires_at <= now_ms()
        order by expires_at limit ${maxExpiredAtOnce}`)
      if (due.length === 0) return []
      return await store.transaction(async (queries) => {
        // A hold ends on all accounts of its chain, and the limit may have cut one in two.
        const given = ids.parameter(new Set(due.map(({ id }) => id)))
        const accounts = await queries.all<{ account: string }>(
          `select distinct account from hold where id in (select id from ${ids.sql} as given)`, [given])
        await statements.lockAccounts(queries, accounts.map(({ account }) => account))
        const released = await queries.all<Released>(`
          update hold set state = ${holdState.revoked}, resolved_at = now_ms()
          where state = 0 and id in (select id from ${ids.sql} as given)
          returning account, amount as "amountNano"`, [given])
        return await uncount(queries, released)
      })
    }
  }
}
