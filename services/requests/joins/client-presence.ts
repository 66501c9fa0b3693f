import { createJsonIds } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'

export type ClientPresence = ReturnType<typeof createClientPresence>

/** One client that waits: how its wait ends is recorded, for requests that may join its work. */
export interface WaitingClient {
  /** Records that it no longer waits. Never rejects. */
  leave (): Promise<void>
  /** Records that it has received the whole response; until then it still waits. Never rejects. */
  receive (): Promise<void>
}

/** A client that waits for a piece of work, as its row and the row of its node show it. */
export interface PresenceRow {
  id: string
  work: string
  node: string
  /** The last heartbeat of its node in ms since 1970, and how long ago that was; null without such a node. */
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
  /** The work that clients wait for; part of their ids. */
  kind: 'job' | 'generation'
  /** A node whose heartbeat is older is dead. */
  takeoverMs: number
}

/** Creates the record of the clients that wait on this node, and reads that of all nodes. */
export function createClientPresence ({ store, node, kind, takeoverMs }: ClientPresenceOptions) {
  const rows = createPresenceRows(store, node)
  /** The work of each client that waits here; null while it is being looked up. */
  const waiting = new Map<string, string | null>()
  let count = 0

  async function add (queries: Queries, work: string, clientId: string): Promise<void> {
    await rows.put(queries, work, clientId)
    if (waiting.has(clientId)) waiting.set(clientId, work)
  }

  return {
    ...rows,
    /** Returns a new id, which is valid until it is released. */
    acquire (): string {
      const clientId = `${node} ${kind} ${++count}`
      waiting.set(clientId, null)
      return clientId
    },
    release (clientId: string): void { waiting.delete(clientId) },
    add,
    /**
     * Adds a client to locked work in the place of the clients `lost`; false if others wait for it. Null: it
     * joins beside any others.
     */
    async join (
      queries: Queries, work: string, { clientId, lost }: { clientId: string, lost: readonly string[] | null }
    ): Promise<boolean> {
      const others = lost === null ? [] : await rows.of([work], queries)
      if (others.some(({ id }) => lost?.includes(id) !== true)) return false
      for (const { id } of others) await rows.remove(queries, id)
      await add(queries, work, clientId)
      return true
    },
    /** How a client stands at `nowMs`, to a request that arrived at `arrivedAt`; both in ms since 1970. */
    standing (
      { id, node: itsNode, heartbeatAt, silentMs }: PresenceRow, arrivedAt: number, nowMs: number
    ): Standing {
      const isHere = itsNode === node
      if (isHere && !waiting.has(id)) return 'lost'
      if (!isHere && (heartbeatAt === null || silentMs === null || silentMs > takeoverMs)) return 'lost'
      const isAlive = isHere || (heartbeatAt !== null && heartbeatAt > arrivedAt)
      return isAlive && nowMs - arrivedAt >= losingMs ? 'waits' : 'unsure'
    },
    /** Records the clients that wait here again, after other nodes may have taken this one for dead. */
    async restore (): Promise<void> {
      for (const [clientId, work] of waiting) if (work !== null) await rows.restore(work, clientId)
    }
  }
}

function createPresenceRows (store: Store, node: string) {
  const ids = createJsonIds(store.engine)
  return {
    async put (queries: Queries, work: string, clientId: string): Promise<void> {
      // A client whose work was lost waits for its replacement under the same id.
      await queries.run(`
        insert into waiter (id, work, node) values ($1, $2, $3)
        on conflict (id) do update set work = excluded.work`, [clientId, work, node])
    },
    async restore (work: string, clientId: string): Promise<void> {
      // A client that is recorded may wait for other work by now.
      await store.run(
        'insert into waiter (id, work, node) values ($1, $2, $3) on conflict do nothing', [clientId, work, node])
    },
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
    /** Deletes the clients of dead nodes. Returns the work that they waited for. */
    async forget (queries: Queries, dead: readonly string[]): Promise<string[]> {
      const rows = await queries.all<{ work: string }>(
        `delete from waiter where node in (select id from ${ids.sql} as given) returning work`, [ids.parameter(dead)])
      return [...new Set(rows.map(({ work }) => work))]
    }
  }
}
