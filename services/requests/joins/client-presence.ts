import { createJsonIds } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'

export type ClientPresence = ReturnType<typeof createClientPresence>

/** A client that waits for a piece of work, as its row and the row of its node show it. */
export interface PresenceRow {
  id: string
  work: string
  node: string
  /** The last heartbeat of its node in ms since 1970, and how long ago that was; null: no such node. */
  heartbeatAt: number | null
  silentMs: number | null
}

/** `unsure`: it may have left, and its node will show that within seconds. */
export type Standing = 'waits' | 'lost' | 'unsure'

/** How long after a retry's arrival the gateway may still learn that the first connection has broken. */
const losingMs = 2_000

interface ClientPresenceOptions {
  store: Store
  node: string
  /** Part of the ids: what is waited for. */
  kind: 'job' | 'generation'
  /** A node whose heartbeat is older is dead. */
  takeoverMs: number
}

/** Creates the record of the clients that wait on this node, and reads that of all nodes. */
export function createClientPresence ({ store, node, kind, takeoverMs }: ClientPresenceOptions) {
  const ids = createJsonIds(store.engine)
  /** The work of each client that waits here; null while it is being looked up. */
  const waiting = new Map<string, string | null>()
  let count = 0

  async function add (queries: Queries, work: string, clientId: string): Promise<void> {
    // A client whose work was lost waits for its replacement under the same id.
    await queries.run(`
      insert into waiter (id, work, node) values ($1, $2, $3)
      on conflict (id) do update set work = excluded.work`, [clientId, work, node])
    if (waiting.has(clientId)) waiting.set(clientId, work)
  }

  return {
    /** Returns a new id, which is valid until it is released. */
    acquire (): string {
      const clientId = `${node} ${kind} ${++count}`
      waiting.set(clientId, null)
      return clientId
    },
    release (clientId: string): void { waiting.delete(clientId) },
    add,
    /** Returns whether it was there. */
    async remove (queries: Queries, clientId: string): Promise<boolean> {
      return await queries.run('delete from waiter where id = $1', [clientId]) === 1
    },
    async of (works: readonly string[], queries: Queries = store): Promise<PresenceRow[]> {
      return await queries.all(`
        select waiter.id, work, node, heartbeat_at as "heartbeatAt", now_ms() - heartbeat_at as "silentMs"
        from waiter left join node on node.id = waiter.node
        where work in (select id from ${ids.sql} as given)`, [ids.parameter(works)])
    },
    /** How a waiter stands at `nowMs`, to a request that arrived at `arrivedAt`; both in ms since 1970. */
    standing (
      { id, node: its, heartbeatAt, silentMs }: PresenceRow, arrivedAt: number, nowMs: number
    ): Standing {
      const isOwn = its === node
      if (isOwn && !waiting.has(id)) return 'lost'
      if (!isOwn && (heartbeatAt === null || silentMs === null || silentMs > takeoverMs)) return 'lost'
      const isAlive = isOwn || (heartbeatAt !== null && heartbeatAt > arrivedAt)
      return isAlive && nowMs - arrivedAt >= losingMs ? 'waits' : 'unsure'
    },
    /** Records the clients that wait here again, after other nodes may have taken this one for dead. */
    async restore (): Promise<void> {
      for (const [clientId, work] of waiting) {
        if (work === null) continue
        // A client that is recorded may wait for other work by now.
        await store.run(
          'insert into waiter (id, work, node) values ($1, $2, $3) on conflict do nothing', [clientId, work, node])
      }
    },
    /** Deletes the clients of dead nodes. Returns what they waited for. */
    async forget (queries: Queries, dead: readonly string[]): Promise<string[]> {
      const rows = await queries.all<{ work: string }>(
        `delete from waiter where node in (select id from ${ids.sql} as given) returning work`, [ids.parameter(dead)])
      return [...new Set(rows.map(({ work }) => work))]
    }
  }
}
