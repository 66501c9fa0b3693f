import { createJsonIds } from '../store/json-rows.ts'
import type { Queries, Store } from '../store/store.ts'
import type { Job, LiveJob } from './job.ts'
import type { OtherNode } from '../billing/ledger/cluster/node-liveness.ts'
import type { ClientPresence } from '../requests/joins/client-presence.ts'
import { createClientRows } from './client-rows.ts'
import { addWebhook, pruneWebhooks } from './webhooks/webhook-rows.ts'
import { columns, toColumns, toJob, type JobChange, type JobRow } from './job-row.ts'

export type JobRows = ReturnType<typeof createJobRows>

const maxAdopted = 500

/** Creates the statements on jobs for one node: a short method each. Methods throw StoreUnavailable. */
export function createJobRows (store: Store, node: string, clientPresence: ClientPresence) {
  const ids = createJsonIds(store.engine)
  const skipLocked = store.engine === 'postgres' ? 'for update skip locked' : ''

  return {
    ...createClientRows(store, node, clientPresence),

    /**
     * Inserts a job, its first waiter and its webhook; false when the key has a job of that `dedupe` already.
     */
    async insert (
      queries: Queries, job: Job, clientId: string, webhookUrl: string | null = null
    ): Promise<boolean> {
      const row = toColumns(job)
      const names = Object.keys(row)
      const inserted = await queries.run(`
        insert into job (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})
        on conflict do nothing`, Object.values(row)) === 1
      if (inserted) await clientPresence.add(queries, job.id, clientId)
      if (inserted && webhookUrl !== null) await addWebhook(queries, job, webhookUrl, job.createdAt)
      return inserted
    },

    async get (id: string, queries: Queries = store): Promise<Job | undefined> {
      const row = await queries.get<JobRow>(`select ${columns} from job where id = $1`, [id])
      return row && toJob(row)
    },

    async named (apiKey: string, dedupe: string): Promise<Job | undefined> {
      const row = await store.get<JobRow>(
        `select ${columns} from job where api_key = $1 and dedupe = $2`, [apiKey, dedupe])
      return row && toJob(row)
    },

    /**
     * Undelivered jobs of a key without an Idempotency-Key and with the same content, whose id no client has
     * received, created since a time or succeeded and not expired; the oldest first. The `+` before the
     * order's column keeps SQLite from walking all jobs.
     */
    async alike (
      apiKey: string, bodyHash: string, { sinceMs, nowMs }: Record<'sinceMs' | 'nowMs', number>
    ): Promise<Job[]> {
      const rows = await store.all<JobRow>(`
        select ${columns} from job
        where api_key = $1 and body_hash = $2 and dedupe is null and delivered = 0
        and background < 2 and cancel = 0 and deleted_at is null and state <> 'cancelled'
        and (created_at >= $3 or (state = 'succeeded' and expires_at > $4))
        order by +created_at, id limit 100`, [apiKey, bodyHash, sinceMs, nowMs])
      return rows.map(toJob)
    },

    /** Frees the Idempotency-Key of a job that expired or that is cancelled. */
    async forgetName (id: string, nowMs: number): Promise<void> {
      await store.run(`
        update job set dedupe = null
        where id = $1 and (expires_at <= $2 or cancel <> 0 or state = 'cancelled')`, [id, nowMs])
    },

    /** Changes a job; false if this node no longer owns it. */
    async change ({ id, fence }: Pick<LiveJob, 'id' | 'fence'>, change: JobChange, queries: Queries = store): Promise<boolean> {
      const set = toColumns(change)
      const names = Object.keys(set).map((name, index) => `${name} = $${index + 4}`)
      return await queries.run(`
        update job set ${names.join(', ')} where id = $1 and owner = $2 and fence = $3 and finished_at is null`,
      [id, node, fence, ...Object.values(set)]) === 1
    },

    /** The nodes that own jobs or on which clients wait, and this one. */
    async owners (): Promise<OtherNode[]> {
      return await store.all(`
        select id, epoch, heartbeat_at as "heartbeatAt", now_ms() - heartbeat_at as "silentMs", 0 as "requestMs"
        from node where id = $1
        or exists (select 1 from job where job.owner = node.id and finished_at is null)
        or exists (select 1 from waiter where waiter.node = node.id)`, [node])
    },

    /**
     * Takes over jobs without an owner or of these nodes; at most `maxAdopted`. For the `+` see `alike`.
     */
    async adopt (dead: readonly string[]): Promise<Job[]> {
      const rows = await store.all<JobRow>(`
        update job set owner = $2, fence = fence + 1 where id in (
          select id from job where finished_at is null
          and (owner is null or owner in (select id from ${ids.sql} as given))
          order by +created_at limit ${maxAdopted} ${skipLocked})
        returning ${columns}`, [ids.parameter(dead), node])
      return rows.map(toJob)
    },

    /** Leaves the submitted ones of these jobs to other nodes; returns their ids. */
    async handOver (list: readonly string[]): Promise<string[]> {
      const rows = await store.all<{ id: string }>(`
        update job set owner = null
        where id in (select id from ${ids.sql} as given) and owner = $2 and state in ('queued', 'running')
        returning id`, [ids.parameter(list), node])
      return rows.map(({ id }) => id)
    },

    /** Takes over those of these jobs that have no owner. */
    async takeBack (list: readonly string[]): Promise<Job[]> {
      const rows = await store.all<JobRow>(`
        update job set owner = $2, fence = fence + 1
        where id in (select id from ${ids.sql} as given) and owner is null and finished_at is null
        returning ${columns}`, [ids.parameter(list), node])
      return rows.map(toJob)
    },

    /** Whether another node has sent a heartbeat within this time. */
    async hasPeers (withinMs: number): Promise<boolean> {
      return await store.get('select id from node where id <> $1 and now_ms() - heartbeat_at < $2 limit 1', [node, withinMs]) !== undefined
    },

    async abandon (): Promise<void> {
      await store.run('update job set owner = null where owner = $1 and finished_at is null', [node])
    },

    async finished (list: readonly string[]): Promise<Job[]> {
      const rows = await store.all<JobRow>(`
        select ${columns} from job where finished_at is not null and id in (select id from ${ids.sql} as given)`,
      [ids.parameter(list)])
      return rows.map(toJob)
    },

    /** Jobs of this node that an operator wants to cancel. */
    async cancelled (): Promise<string[]> {
      const rows = await store.all<{ id: string }>(
        'select id from job where owner = $1 and finished_at is null and cancel = 1', [node])
      return rows.map(({ id }) => id)
    },

    /** Jobs of this node that their clients have deleted. */
    async deleted (): Promise<string[]> {
      const rows = await store.all<{ id: string }>(
        'select id from job where owner = $1 and finished_at is null and deleted_at is not null', [node])
      return rows.map(({ id }) => id)
    },

    /** Deletes jobs that ended before a time; the ledger keeps their entries. */
    async prune (beforeMs: number): Promise<void> {
      await store.transaction(async queries => {
        await pruneWebhooks(queries, beforeMs)
        await queries.run('delete from job where finished_at < $1', [beforeMs])
      })
    }
  }
}
